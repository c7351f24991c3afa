import http from 'node:http'
import { readSecret, signMessage, webhookId } from '../../src/outbox/sign-message.ts'
import { messageOf, RELAY_SECRET } from './relay-config.ts'
import type { RelayConfig } from './relay-config.ts'
import { hear, importPeer, runSubject, say, startClock } from './subject.ts'

type BullmqConfig = RelayConfig & { readonly redis: { readonly path: string } }

/** The members of BullMQ that are used here. */
interface Queue {
  addBulk(jobs: readonly { name: string; data: object; opts: object }[]): Promise<unknown>
  close(): Promise<void>
}
interface Job {
  readonly id: string
  readonly data: object
}
interface Worker {
  on(event: 'completed' | 'failed', listener: () => void): void
  run(): Promise<void>
  close(): Promise<void>
}
interface Bullmq {
  readonly Queue: new (name: string, options: object) => Queue
  readonly Worker: new (
    name: string,
    process: (job: Job) => Promise<unknown>,
    options: object,
  ) => Worker
}

const CHUNK = 1_000
const { Queue, Worker } = await importPeer<Bullmq>('bullmq')
const SECRETS = [readSecret('secret', RELAY_SECRET)]

/** BullMQ: a worker whose job is the same signed POST. Redis keeps its log, synced every second. */
runSubject<BullmqConfig>(async ({ redis, messages, url, concurrency }) => {
  const queue = new Queue('messages', { connection: redis })
  for (let from = 0; from < messages; from += CHUNK) {
    const count = Math.min(CHUNK, messages - from)
    await queue.addBulk(
      Array.from({ length: count }, (_, index) => {
        const { key, payload } = messageOf(from + index)
        return { name: 'post', data: payload, opts: { jobId: key, removeOnComplete: true } }
      }),
    )
  }
  say({ kind: 'filled' })
  await hear('go')

  const agent = new http.Agent({ keepAlive: true })
  let left = messages
  let failed = 0
  const worker = new Worker('messages', async ({ id, data }) => post(agent, url, id, data), {
    connection: { ...redis, maxRetriesPerRequest: null },
    concurrency,
    autorun: false,
  })
  const done = new Promise<void>((resolve) => {
    worker.on('completed', () => {
      left -= 1
      if (left === 0) resolve()
    })
  })
  worker.on('failed', () => (failed += 1))
  const stopClock = startClock()
  void worker.run()
  await done
  say({ kind: 'finished', ...stopClock(), notes: { failed } })
  await worker.close()
  await queue.close()
  agent.destroy()
})

function post(agent: http.Agent, url: string, key: string, data: object): Promise<void> {
  const body = Buffer.from(JSON.stringify(data))
  const id = webhookId(key)
  const timestamp = Math.floor(Date.now() / 1_000)
  const headers = {
    'content-type': 'application/json',
    'content-length': body.byteLength,
    'idempotency-key': key,
    'webhook-id': id,
    'webhook-timestamp': timestamp,
    'webhook-signature': signMessage(SECRETS, { id, timestamp, body }),
  }
  return new Promise((resolve, reject) => {
    const request = http.request(url, { method: 'POST', agent, headers, timeout: 15_000 })
    request.on('error', reject)
    request.on('timeout', () => request.destroy(new Error('no answer')))
    request.on('response', (response) => {
      response.resume()
      response.on('end', () => {
        if (response.statusCode === 200) resolve()
        else reject(new Error(`answered ${response.statusCode}`))
      })
    })
    request.end(body)
  })
}
