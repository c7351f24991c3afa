import { octokitOracle } from '../octokit-oracle.ts'

export const ORACLE = octokitOracle('bitbucket', 'x-hub-signature')
