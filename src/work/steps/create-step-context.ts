import type { Logger } from '../../telemetry/logger.ts'
import type { SendOptions } from '../../model/message.ts'
import { RunningContext } from '../running-context.ts'
import { runCallStep } from './step-call.ts'
import type { CallOptions, StepCallContext, StepContext } from './step-context.ts'
import { keyOfStep } from './step-scope.ts'
import type { StepScope, TxStep } from './step-scope.ts'
import { runTxStep } from './step-tx.ts'

type CallWork<Result> = (context: StepCallContext) => Promise<Result> | Result

/** What a step handler gets as its second argument. */
export function createStepContext<Sql>(
  scope: StepScope<Sql>,
  logger: Logger,
): StepContext<unknown, unknown, Sql> {
  const { leased, handler, life, settings } = scope
  const { store, outbox } = scope.context
  const parts = { logger, store, outbox, event: leased, handler, lent: undefined, abortion: life }
  const context = new RunningContext<Sql>(parts)
  const labels = new SendLabels()
  const timeoutMs = settings.txTimeoutMs
  return {
    attempt: context.attempt,
    crashes: context.crashes,
    isReplay: context.isReplay,
    run: context.run,
    fetched: scope.fetched,
    log: context.log,
    idempotencyKey: (name) => context.idempotencyKey(name),
    token: leased.lease.token,
    get signal() {
      return life.signal
    },
    tx: <Result>(name: string, work: Parameters<StepContext<unknown, unknown, Sql>['tx']>[1]) => {
      const run: TxStep<Sql>['work'] = (sql, onSent, own) => {
        // Anew with each run: the transaction may be rolled back for the sake of others, and the keys must be the same.
        const sends = new SendLabels()
        return store.runBound(sql, () =>
          work(store.bindTx(sql), {
            sql,
            get signal() {
              return own.signal
            },
            send: async (destination, payload, options = {}) => {
              const label = `${name}: ${sends.next(destination, options)}`
              await enqueue(scope, sql, { label, destination, payload, options })
              onSent()
            },
          }),
        )
      }
      return life.track(
        runTxStep(scope, { kind: 'tx', name, timeoutMs, work: run }),
      ) as Promise<Result>
    },
    call: <Result>(name: string, ...rest: [CallWork<Result>] | [CallOptions, CallWork<Result>]) => {
      const [options, work] = rest.length === 1 ? [{}, rest[0]] : rest
      return life.track(runCallStep(scope, { name, options, work })) as Promise<Result>
    },
    send: (destination, payload, options = {}) => {
      const label = labels.next(destination, options)
      const work: TxStep<Sql>['work'] = async (sql, onSent) => {
        await enqueue(scope, sql, { label, destination, payload, options })
        onSent()
      }
      const name = `send ${label}`
      return life.track(runTxStep(scope, { kind: 'send', name, timeoutMs, work })) as Promise<void>
    },
  }
}

/** The names of messages: by their key, or by their place among those to the same destination. */
class SendLabels {
  readonly #counts = new Map<string, number>()

  next(destination: string, { key }: SendOptions): string {
    if (key !== undefined) return `${destination} ${key}`
    const count = (this.#counts.get(destination) ?? 0) + 1
    this.#counts.set(destination, count)
    return count === 1 ? destination : `${destination} #${count}`
  }
}

async function enqueue<Sql>(
  scope: StepScope<Sql>,
  sql: Sql,
  message: {
    readonly label: string
    readonly destination: string
    readonly payload: unknown
    readonly options: SendOptions
  },
): Promise<void> {
  const { label, destination, payload, options } = message
  const { outbox } = scope.context
  const defaultKey = (): string => keyOfStep(scope, `send ${label}`)
  const { eventId } = scope.leased
  const draft = outbox.draft({ destination, payload, options, defaultKey, eventId })
  await outbox.enqueue(sql, [draft])
}
