import type { CreateHttpClient } from '../../../src/egress/http-client.ts'
import { nodeClient } from '../../../src/egress/node-client.ts'
import { undiciClient } from '../../../src/gateway/undici-client.ts'
import { ENGINES } from '../faults/fault-database.ts'
import type { Engine } from '../faults/fault-database.ts'

export type ClientName = 'node' | 'undici'

/** What speaks HTTP to destinations: in the library, and in the gateway. */
export const CLIENTS: Readonly<Record<ClientName, CreateHttpClient>> = {
  node: nodeClient,
  undici: undiciClient,
}

export const CLIENT_NAMES: readonly ClientName[] = ['node', 'undici']

/** What a relay runs on, and sends with. A client knows no store, so that each is tried once with the second one. */
export const SENDERS: readonly { readonly engine: Engine; readonly client: ClientName }[] = [
  ...ENGINES.map((engine) => ({ engine, client: 'node' }) as const),
  { engine: 'sqlite', client: 'undici' },
]
