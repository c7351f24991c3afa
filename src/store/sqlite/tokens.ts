import type { TokenStore } from '../contract/tokens.ts'
import type { Connections } from './connections.ts'
import { createToken, findToken, listTokens, revokeToken } from './sql/tokens.ts'

/** The part of the store that keeps the tokens of operators. */
export function createTokens(connections: Connections): TokenStore {
  return {
    create: (draft, actor) =>
      connections.write('durably', (connection) => createToken(connection, draft, actor)),
    revoke: (name, actor) =>
      connections.write('durably', (connection) => revokeToken(connection, name, actor)),
    find: (hash) => connections.read((connection) => findToken(connection, hash)),
    list: () => connections.read(listTokens),
  }
}
