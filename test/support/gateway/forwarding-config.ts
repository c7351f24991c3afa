import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { sign } from '../../../src/testing/index.ts'
import type { Delivery } from '../../../src/index.ts'

const SECRET = 'whsec_0123456789abcdef'

/** The config of a gateway that forwards what one sender delivers to a service on this machine. */
export function writeForwardingConfig(folder: string, servicePort: number): void {
  const config = {
    // No delivery is answered 503 because the machine is busy.
    receive: { answerTimeoutMs: 30_000 },
    // Short, so that what a killed gateway was sending is sent again within the run.
    relay: { leaseMs: 3_000 },
    // It is the run that kills, and no event. With the default of three, a run of 200 kills beside other work left four
    // of 8,000 events dead as "crashed": each had been the one that was running three times.
    worker: { crashesMax: 100 },
    sources: { stripe: { provider: 'stripe', secrets: [SECRET], forward: ['app'] } },
    destinations: {
      app: {
        url: `http://127.0.0.1:${servicePort}/`,
        allowPrivate: true,
        secrets: ['a secret of the service behind it'],
        timeoutMs: 2_000,
        retry: { firstMs: 100, factor: 1, attemptsMax: 1_000 },
        breakerMs: 200,
      },
    },
  }
  writeFileSync(join(folder, 'hookonce.config.json'), JSON.stringify(config))
}

/** A delivery that a gateway with this config believes. */
export function signForConfig(key: string): Delivery {
  return sign('stripe', { key }, { secret: SECRET })
}
