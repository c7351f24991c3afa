/**
 * An example as its README starts it: a process of its own on a free port, which is asked to stop by SIGTERM.
 *
 * @module
 */

import { spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { onTestFinished } from 'vitest'
import { sign } from '../../src/testing/index.ts'
import { until } from './faults/until.ts'
import type { ConnectionConfig } from './postgres/start-postgres.ts'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
/** What deliveries are signed with. */
export const SECRET = 'whsec_only_for_the_tests_of_examples'

export interface RunningExample {
  /** Where it listens, as it has said. */
  readonly url: string
  /** Asks it to stop, and waits until it has: with 0, unless something went wrong. */
  stop(): Promise<number | null>
}

/** Starts `examples/<program>`, and kills it at the end of the test where it still runs. */
export async function startExample(
  program: string,
  {
    env,
    tsconfig = 'tsconfig.json',
    node = process.execPath,
  }: { readonly env: NodeJS.ProcessEnv; readonly tsconfig?: string; readonly node?: string },
): Promise<RunningExample> {
  const child = spawn(node, ['--import', import.meta.resolve('tsx'), `examples/${program}`], {
    cwd: ROOT,
    env: {
      ...process.env,
      NODE_OPTIONS: '',
      TSX_TSCONFIG_PATH: tsconfig,
      PORT: '0',
      STRIPE_WEBHOOK_SECRET: SECRET,
      ...env,
    },
  })
  let output = ''
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (chunk: Buffer) => (output += chunk.toString()))
  const ended = new Promise<number | null>((resolve) => child.once('close', resolve))
  onTestFinished(() => void child.kill('SIGKILL'))
  const findUrl = () => /Listening on (http:\S+)/.exec(output)?.[1]
  await until(`${program} listens`, () => {
    if (child.exitCode !== null) throw new Error(`${program} has ended:\n${output}`)
    return findUrl() !== undefined
  })
  return {
    url: findUrl() ?? '',
    stop: async () => {
      child.kill('SIGTERM')
      return ended
    },
  }
}

/** Delivers one event several times at once, signed as Stripe would, and returns what each was answered. */
export async function deliverTo(
  url: string,
  event: { readonly key: string; readonly type?: string; readonly times?: number },
): Promise<readonly string[]> {
  const { key, type = 'invoice.paid', times = 10 } = event
  // Signed once: the sample has the second in it, and another body under the same key is a conflict and no duplicate.
  const delivery = signed({ key, type })
  const send = async () => {
    const response = await fetch(url, delivery)
    const { status } = (await response.json()) as { status: string }
    return `${response.status} ${status}`
  }
  return Promise.all(Array.from({ length: times }, send))
}

/** A delivery as a `RequestInit`, for handlers that are called without a server. */
export function signed(event: { readonly key: string; readonly type: string }) {
  const { method, headers, body } = sign('stripe', event, { secret: SECRET })
  return { method, headers: headers as Record<string, string>, body: Buffer.from(body) }
}

/** As a service is told where its database is. */
export function databaseUrl({ host, port, user, password, database }: ConnectionConfig): string {
  const credentials = [user, ...(password === undefined ? [] : [password])].map(encodeURIComponent)
  const query = new URLSearchParams({ host, port: String(port) })
  return `postgres://${credentials.join(':')}@localhost/${database}?${query}`
}
