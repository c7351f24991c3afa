import { octokitOracle } from '../octokit-oracle.ts'

export const ORACLE = octokitOracle('jira', 'x-hub-signature')
