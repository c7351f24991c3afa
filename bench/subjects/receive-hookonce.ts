import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createInbox } from '../../src/index.ts'
import { stripe } from '../../src/providers/index.ts'
import { STRIPE_SECRET } from '../load/signed-requests.ts'
import { openStore } from './open-store.ts'
import type { ReceiveConfig } from './receive-config.ts'
import { hear, runSubject, say } from './subject.ts'

/** Ours, as a user has it: every default, receiving only. */
runSubject<ReceiveConfig>(async (config) => {
  const { store, close } = openStore(config)
  const inbox = createInbox({
    store,
    sources: { stripe: stripe({ secrets: [STRIPE_SECRET], toleranceSeconds: 86_400 }) },
    worker: false,
  })
  await inbox.start()
  const server = createServer(inbox.node('stripe'))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  say({ kind: 'listening', port: (server.address() as AddressInfo).port })
  await hear('stop')
  server.close()
  server.closeAllConnections()
  await inbox.stop()
  await close()
})
