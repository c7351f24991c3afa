import { octokitOracle } from '../octokit-oracle.ts'

export const ORACLE = octokitOracle('github', 'x-hub-signature-256')
