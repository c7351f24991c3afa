/**
 * A `pg` client whose every statement passes a probe: before it is sent, when it is sent, and when
 * its answer has come. Statements that are sent together are one to it. Given to a pool as its `Client`, so
 * that nothing in `src/` knows of it.
 *
 * @module
 */

import pg from 'pg'

export type StatementPhase = 'before' | 'sent' | 'after'

export interface Boundary {
  readonly text: string
  readonly phase: StatementPhase
  /** What it is sent on. */
  readonly connection: object
  /** Whether the connection was inside a transaction when the statement was sent. Not known of SQLite. */
  readonly isInTransaction?: boolean
}

/** Called at each boundary; the statement, or its answer, waits for what it returns. */
export type Probe = (boundary: Boundary) => Promise<void> | undefined

export interface ProbedClients {
  /** For `new pg.Pool({ Client })`. */
  readonly Client: typeof pg.Client
  /** The clients that are open. */
  listClients(): readonly pg.Client[]
}

export function createProbedClients(probe: Probe): ProbedClients {
  const clients = new Set<pg.Client>()
  class ProbedClient extends pg.Client {
    constructor(config?: string | pg.ClientConfig) {
      super(config)
      clients.add(this)
      this.on('end', () => clients.delete(this))
    }

    // The driver's overloads are many; whichever was called, its arguments are passed on as they came.
    override query(...args: unknown[]): never {
      const text = textOf(args[0])
      const send = (...sent: unknown[]) => (super.query as (...all: unknown[]) => unknown)(...sent)
      const pass: ProbeHere = (boundary) => probe({ ...boundary, connection: this })
      if (isBatch(args[0])) return sendBatch(pass, args[0], send, statusOf(this) ?? 'I') as never
      if (text === undefined) return send(...args) as never
      const callback = args.at(-1)
      if (typeof callback === 'function') return sendWithCallback(pass, text, args, send) as never
      const waiting = pass({
        text,
        phase: 'before',
        isInTransaction: (statusOf(this) ?? 'I') !== 'I',
      })
      const answer = () => awaitAnswer(pass, text, send(...args) as Promise<unknown>)
      // Sent in this turn unless the probe asks to wait, so that the order of statements stays as it was.
      return (waiting === undefined ? answer() : waiting.then(answer)) as never
    }
  }
  return {
    Client: ProbedClient,
    listClients: () => [...clients],
  }
}

/** The same on one connection. */
type ProbeHere = (boundary: Omit<Boundary, 'connection'>) => ReturnType<Probe>

async function awaitAnswer(
  pass: ProbeHere,
  text: string,
  answer: Promise<unknown>,
): Promise<unknown> {
  answer.catch(() => undefined)
  // The driver has written to the socket by now; what waits here waits for the answer.
  await pass({ text, phase: 'sent' })
  try {
    return await answer
  } finally {
    await pass({ text, phase: 'after' })
  }
}

/** As a pool's own `query` does it. A probe can end the process here, but not make anything wait. */
function sendWithCallback(
  pass: ProbeHere,
  text: string,
  args: readonly unknown[],
  send: (...sent: unknown[]) => unknown,
): unknown {
  const callback = args.at(-1) as (...results: unknown[]) => void
  void pass({ text, phase: 'before' })
  const sending = send(...args.slice(0, -1), (...results: unknown[]) => {
    void pass({ text, phase: 'after' })
    callback(...results)
  })
  void pass({ text, phase: 'sent' })
  return sending
}

/** What the text of a batch is that has statements of handlers and none of ours. */
export const WRITES = 'what was written without waiting'

/** What tells the driver itself what to send: statements of ours, or what `tx.write` collected. */
interface Batch {
  submit(protocol: unknown): unknown
  callback: (error: unknown) => void
}

/** It is shown a protocol that remembers what is parsed, and sends nothing. */
function textOfBatch(batch: Batch): string {
  const texts: string[] = []
  const nothing = (): void => undefined
  batch.submit({
    stream: {},
    parse: ({ text }: { text: string }) => texts.push(text),
    bind: nothing,
    describe: nothing,
    execute: nothing,
    sync: nothing,
  })
  return texts.some((text) => OURS.test(text)) ? texts.join('; ') : WRITES
}

const OURS = /^(?:begin|commit|rollback|release)\b|hookonce|set_config/

function isBatch(query: unknown): query is Batch {
  return typeof query === 'object' && query !== null && 'submit' in query && !('text' in query)
}

function sendBatch(
  pass: ProbeHere,
  batch: Batch,
  send: (sent: unknown) => unknown,
  status: string,
): unknown {
  const { callback } = batch
  const text = textOfBatch(batch)
  let passed: Promise<void> | undefined
  batch.callback = (error) => {
    const answered = async () => {
      await passed
      await pass({ text, phase: 'after' })
    }
    void answered().then(() => callback(error))
  }
  const submit = () => {
    const sending = send(batch)
    passed = pass({ text, phase: 'sent' })
    return sending
  }
  const waiting = pass({ text, phase: 'before', isInTransaction: status !== 'I' })
  return waiting === undefined ? submit() : waiting.then(submit)
}

/** `I` outside a transaction, `T` in one, `E` in one that failed. */
function statusOf(client: pg.Client): string | null {
  return (client as unknown as { getTransactionStatus(): string | null }).getTransactionStatus()
}

function textOf(query: unknown): string | undefined {
  if (typeof query === 'string') return query
  if (typeof query !== 'object' || query === null || !('text' in query)) return undefined
  return typeof query.text === 'string' ? query.text : undefined
}
