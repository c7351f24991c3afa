/** A process with a guard, led by messages: it runs what it is told to and says what became of it. */

import { createGuard } from '../../../src/guard/index.ts'
import { COMPLETE } from '../../../src/guard/scripts.ts'
import { connectRedis } from '../redis/connect-redis.ts'
import type { FromGuard, GuardConfig, ToGuard } from './guard-messages.ts'

const say = (message: FromGuard): void => void process.send?.(message)
const held = new Map<string, { finish(): void; fail(error: Error): void }>()

process.on('message', (message: ToGuard) => {
  if (message.do === 'start') void start(message.config)
  if (message.do === 'finish') held.get(message.name)?.finish()
  if (message.do === 'fail') held.get(message.name)?.fail(new Error('on purpose'))
})
say({ said: 'loaded' })

async function start(config: GuardConfig): Promise<void> {
  const { client, send } = await connectRedis(config.client, config.address)
  const watched = config.neverMarks ? withoutMarks(client) : client
  const guard = createGuard({
    redis: watched as never,
    sources: { orders: { retryWindowHours: 72 } },
    logger: { debug() {}, info() {}, warn() {}, error() {} },
    ...config.options,
  })
  process.on('message', (message: ToGuard) => {
    if (message.do !== 'run') return
    const { name, key, times, isHeld } = message
    for (let call = 0; call < times; call += 1) {
      guard
        .once('orders', key, async () => {
          // The effect that leaves the process: a list that nothing makes unique.
          await send('RPUSH', config.ledger, name)
          say({ said: 'running', name })
          if (isHeld) await new Promise<void>((finish, fail) => held.set(name, { finish, fail }))
          return { by: name }
        })
        .then(
          (outcome) => say({ said: 'outcome', name, outcome }),
          (error: unknown) => say({ said: 'threw', name, error: String(error) }),
        )
    }
  })
  say({ said: 'started' })
}

/** A client whose marks never leave: the moment between the work and its mark, for as long as it takes. */
function withoutMarks(client: object): object {
  const redis = client as { evalSha(sha1: string, options: unknown): Promise<unknown> }
  return {
    eval: (client as { eval: () => unknown }).eval.bind(client),
    evalSha: (sha1: string, options: unknown) => {
      if (sha1 !== COMPLETE.sha1) return redis.evalSha(sha1, options)
      say({ said: 'marking' })
      return new Promise(() => undefined)
    },
  }
}
