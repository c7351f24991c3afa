import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { createReceiver } from '../../src/http/node.ts'
import { rawSender, statuses } from '../support/raw-exchange.ts'
import { recordingInbox } from '../support/recording-inbox.ts'

/** For more of them, with another seed; CONTRIBUTING.md has the command. */
const REQUESTS = Number(process.env['HOOKONCE_FUZZ_REQUESTS'] ?? 3_000)
const PARALLEL = 50
const SEED = Number(process.env['HOOKONCE_FUZZ_SEED'] ?? 20_240_607)

const escaped: unknown[] = []
const remember = (error: unknown): void => void escaped.push(error)

beforeEach(() => {
  escaped.length = 0
  process.on('unhandledRejection', remember)
  process.on('uncaughtExceptionMonitor', remember)
})

afterEach(() => {
  process.off('unhandledRejection', remember)
  process.off('uncaughtExceptionMonitor', remember)
})

describe('R44: requests that no honest sender would send', () => {
  test(
    `${REQUESTS} of them leave a receiver that answers, and nothing unhandled`,
    async () => {
      const inbox = recordingInbox({ bodyBytesMax: 2_000, bodyTimeoutMs: 50 })
      await using receiver = createReceiver(inbox, {
        headersTimeoutMs: 100,
        keepAliveTimeoutMs: 20,
      })
      const { port } = await receiver.listen()
      const random = generator(SEED)
      const answers: Record<string, number> = {}
      let recorded = 0

      let left = REQUESTS
      const keepSending = async (): Promise<void> => {
        while (left-- > 0) {
          const seen = statuses(await fuzz(port, random))
          for (const status of seen.length === 0 ? ['none'] : seen)
            answers[status] = (answers[status] ?? 0) + 1
          // A million deliveries would be a gigabyte; that they came is all that is asked.
          recorded += inbox.received.splice(0).length
        }
      }
      await Promise.all(Array.from({ length: PARALLEL }, keepSending))
      if ('HOOKONCE_FUZZ_REQUESTS' in process.env) console.log('answers:', answers)

      // The mix is worth something only while it reaches every corner of the receiver.
      expect(Object.keys(answers)).toEqual(
        expect.arrayContaining(['200', '400', '404', '405', '408', '413', '415']),
      )
      expect(recorded).toBeGreaterThan(0)
      expect(escaped).toEqual([])
      expect((await fetch(`http://127.0.0.1:${port}/healthz`)).status).toBe(200)
    },
    60_000 + 10 * REQUESTS,
  )
})

type Random = (below: number) => number

async function fuzz(port: number, random: Random): Promise<string> {
  const sender = await rawSender(port)
  const bytes = spoil(aRequest(random), random)
  const cut = random(bytes.length + 1)
  sender.write(bytes.subarray(0, cut))
  sender.write(bytes.subarray(cut))
  // Some hang up, some only stop talking, the rest wait until they are thrown out.
  const end = random(10)
  if (end === 0) sender.socket.destroy()
  else if (end < 8) sender.socket.end()
  return sender.closed
}

function aRequest(random: Random): Buffer {
  const pick = <T>(list: readonly T[]): T => list[random(list.length)] as T
  const body = Buffer.from(Array.from({ length: pick([0, 2, 40, 3_000]) }, () => random(256)))
  const isChunked = random(4) === 0
  const headers = Array.from({ length: random(6) }, () => `${pick(NAMES)}: ${pick(VALUES)}\r\n`)
  headers.push(
    isChunked
      ? 'transfer-encoding: chunked\r\n'
      : `content-length: ${body.length + pick([0, 0, 0, 7, -1])}\r\n`,
  )
  headers.sort(() => random(3) - 1)
  const head = `${pick(METHODS)} ${pick(PATHS)} HTTP/1.1\r\nhost: x\r\nconnection: ${pick(['close', 'keep-alive'])}\r\n${headers.join('')}\r\n`
  if (!isChunked) return Buffer.concat([Buffer.from(head), body])
  return Buffer.concat([
    Buffer.from(`${head}${body.length.toString(16)}\r\n`),
    body,
    Buffer.from('\r\n0\r\n\r\n'),
  ])
}

/** Half are left as they are; of the others a few bytes are changed. */
function spoil(bytes: Buffer, random: Random): Buffer {
  if (random(2) === 0) return bytes
  for (let count = random(4); count > 0; count -= 1) bytes[random(bytes.length)] = random(256)
  return bytes
}

const METHODS = ['POST', 'POST', 'POST', 'POST', 'GET', 'PUT', 'CONNECT', 'BREW', 'PRI']
const PATHS = [
  '/in/stripe',
  '/in/stripe',
  '/in/standard',
  '/in/standard?x',
  '/in/__proto__',
  '/in/%00',
  '*',
  '/healthz',
  '/readyz',
  '//',
]
const NAMES = [
  '__proto__',
  'constructor',
  'webhook-id',
  'webhook-id',
  'stripe-signature',
  'content-type',
  'content-encoding',
  'expect',
  'upgrade',
  'cookie',
  'trailer',
]
const VALUES = [
  '',
  'x',
  'evil, real',
  't=1,v1=2',
  '100-continue',
  'websocket',
  'gzip',
  '\xff\xfe',
  '9'.repeat(400),
  '__proto__',
  'application/json; charset=\x80',
]

/** Mulberry32: small, and the same on every run. */
function generator(seed: number): Random {
  let state = seed
  return (below) => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) % below
  }
}
