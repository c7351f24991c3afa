/**
 * The operator of an inbox, reached through the admin listener of a gateway: a real socket, and the client that the
 * command uses.
 *
 * @module
 */

import { onTestFinished } from 'vitest'
import type { Operator } from '../../src/admin/operator.ts'
import { AdminServer } from '../../src/gateway/admin/admin-server.ts'
import type { AdminServerOptions } from '../../src/gateway/admin/admin-server.ts'
import { createRemoteOperator } from '../../src/gateway/admin/remote-operator.ts'
import { consoleLogger } from '../../src/index.ts'
import type { StoreUnderTest } from './store-under-test.ts'

export const QUIET = { ...consoleLogger(), debug() {}, info() {}, warn() {}, error() {} }

/** A store whose inboxes are looked after from another process, as it were. */
export function throughGateway(store: StoreUnderTest): StoreUnderTest {
  return { ...store, name: `${store.name}, through a gateway`, operate: reachRemotely }
}

function reachRemotely({ admin }: { readonly admin: Operator }): Operator {
  let reached: Promise<Operator> | undefined
  const reach = () => (reached ??= listen(admin))
  return lazily(admin, async () => reach())
}

async function listen(admin: Operator): Promise<Operator> {
  const { url } = await startAdmin({ operator: () => admin })
  const remote = createRemoteOperator({ url })
  onTestFinished(() => remote.close())
  return remote
}

/** An admin listener for the length of the running test. */
export async function startAdmin(
  given: Pick<AdminServerOptions, 'operator'> & Partial<AdminServerOptions>,
) {
  const server = new AdminServer({
    host: '127.0.0.1',
    port: 0,
    token: undefined,
    hosts: [],
    payloadBytesMax: 1_048_576,
    findToken: async () => undefined,
    logger: QUIET,
    ...given,
  })
  await server.listen()
  onTestFinished(() => server.stop(0))
  return { server, url: `http://127.0.0.1:${server.address?.port}` }
}

type Methods = Readonly<Record<string, unknown>>

/** The same methods, on what is there when they are called. */
function lazily<Type extends object>(like: Type, find: () => Promise<object>): Type {
  const entries = Object.entries(like).map(([name, member]: [string, unknown]) => {
    if (typeof member !== 'function')
      return [
        name,
        lazily(member as object, async () => ((await find()) as Methods)[name] as object),
      ]
    return [
      name,
      async (...args: unknown[]) =>
        ((await find()) as Record<string, (...given: unknown[]) => unknown>)[name]?.(...args),
    ]
  })
  return Object.fromEntries(entries) as Type
}
