import { once } from 'node:events'
import { connect } from 'node:net'
import { RedisServer } from '../../test/support/redis/start-redis.ts'
import { Subject } from './child.ts'
import type { BenchContext } from './context.ts'
import type { Contestant, Measurement, Setting } from './measurement.ts'

export interface RelayTask {
  readonly messages: number
}

export function relayContestant(
  context: BenchContext,
  task: RelayTask,
  { name, settings }: { name: string; settings: readonly Setting[] },
): Contestant {
  return {
    name,
    runtime: 'ours',
    isOurs: true,
    settings,
    measure: (setting) =>
      context.withDatabase((postgres, pool) =>
        measure('relay-hookonce', { ...setting, ...task, postgres }, task, () =>
          context.settle(pool),
        ),
      ),
  }
}

export function bullmqContestant(
  task: RelayTask,
  { name, settings }: { name: string; settings: readonly Setting[] },
): Contestant {
  return {
    name,
    runtime: 'ours',
    isOurs: false,
    settings,
    measure: async (setting) => {
      const server = await new RedisServer().start()
      try {
        await keepLog(server.address)
        const config = { ...setting, ...task, redis: server.address }
        return await measure('relay-bullmq', config, task, async () => undefined)
      } finally {
        await server.dispose()
      }
    },
  }
}

/** What BullMQ's documentation asks for in production: a log, synced every second. */
async function keepLog({ path }: { readonly path: string }): Promise<void> {
  const socket = connect(path)
  socket.write('CONFIG SET appendonly yes\r\nCONFIG SET appendfsync everysec\r\nQUIT\r\n')
  let answer = ''
  socket.on('data', (chunk: Buffer) => (answer += chunk.toString()))
  await once(socket, 'close')
  if (answer !== '+OK\r\n'.repeat(3)) throw new Error(`Redis answered ${answer}`)
}

async function measure(
  script: string,
  config: object,
  { messages }: RelayTask,
  settle: () => Promise<void>,
): Promise<Measurement> {
  const sink = new Subject('relay-sink', {}, 'ours')
  const { port } = await sink.next('listening')
  const url = `http://127.0.0.1:${port}/`
  const subject = new Subject(script, { ...config, url }, 'ours')
  try {
    await subject.next('filled')
    await settle()
    subject.go()
    const { seconds, notes } = await subject.next('finished')
    const { keys, requests } = (await (await fetch(url)).json()) as SinkCounts
    return { rate: messages / seconds, notes, lost: messages - keys, doubled: requests - keys }
  } finally {
    await subject.stop()
    await sink.stop()
  }
}

interface SinkCounts {
  readonly keys: number
  readonly requests: number
}
