/**
 * The entries in Redis: one key for each event, with a lease while it runs and a mark once it is done.
 *
 * Redis decides who runs and until when, by its own clock. What does not answer within
 * `commandTimeoutMs` is unavailable: a client without a connection would otherwise keep the command,
 * and the sender, waiting for as long as it takes to reconnect.
 *
 * @module
 */

import { asError, StoreRejectedError, StoreUnavailableError } from '../errors.ts'
import type { ScriptClient } from './redis-client.ts'
import {
  CLAIM,
  COMPLETE,
  FORGET,
  MARK,
  MEMORY_POLICY,
  OWN_CONTENT,
  READ,
  GIVE_BACK,
  RENEW,
} from './scripts.ts'
import type { Script } from './scripts.ts'

export interface EntriesOptions {
  readonly commandTimeoutMs: number
  readonly leaseMs: number
  readonly retentionMs: number
}

/** What an entry holds. */
export type Held =
  | { readonly status: 'running'; readonly expiresInMs: number }
  | {
      readonly status: 'done'
      readonly fingerprint: string | undefined
      /** JSON text; `undefined` when none was kept. */
      readonly result: string | undefined
    }

/** Which event some content is. */
export interface ContentOwner {
  readonly keyHash: string
  readonly fingerprint: string
}

/** What is written when the work is done. */
export interface Mark {
  readonly token: string
  readonly fingerprint: string | undefined
  readonly result: string | undefined
}

export class Entries {
  readonly #client: ScriptClient
  readonly #options: EntriesOptions
  #isUp = true

  constructor(client: ScriptClient, options: EntriesOptions) {
    this.#client = client
    this.#options = options
  }

  /** Whether Redis answered the last command. */
  get isUp(): boolean {
    return this.#isUp
  }

  /** Takes the lease; `claimed`, or what is there instead. */
  async claim(key: string, token: string): Promise<'claimed' | Held> {
    const args = [leaseOf(token), String(this.#options.leaseMs)]
    const reply = await this.#run(CLAIM, key, args, () => {
      // The client sent it after we had given up. No work runs under this lease, so it must not keep
      // the next delivery out.
      void this.giveBack(key, token).catch(() => undefined)
    })
    return reply[0] === 'claimed' ? 'claimed' : parseHeld(key, reply)
  }

  async renew(key: string, token: string): Promise<'renewed' | 'lost'> {
    const args = [leaseOf(token), String(this.#options.leaseMs)]
    const [status] = await this.#run(RENEW, key, args)
    return status === 'renewed' ? 'renewed' : 'lost'
  }

  /** Swaps the lease for the mark, if it is still ours. */
  async complete(key: string, mark: Mark): Promise<'marked' | 'lost'> {
    const args = [leaseOf(mark.token), markOf(mark), String(this.#options.retentionMs)]
    const [status] = await this.#run(COMPLETE, key, args)
    return status === 'marked' ? 'marked' : 'lost'
  }

  async giveBack(key: string, token: string): Promise<void> {
    await this.#run(GIVE_BACK, key, [leaseOf(token)])
  }

  async read(key: string): Promise<'absent' | Held> {
    const reply = await this.#run(READ, key, [])
    return reply[0] === 'absent' ? 'absent' : parseHeld(key, reply)
  }

  /** Marks without a lease. The first mark stays. */
  async mark(key: string, mark: Mark): Promise<void> {
    await this.#run(MARK, key, [markOf(mark), String(this.#options.retentionMs)])
  }

  /** Makes the content an event's; `owned`, or whose it is already. */
  async ownContent(key: string, owner: ContentOwner): Promise<'owned' | ContentOwner> {
    const args = [ownerText(owner), String(this.#options.retentionMs)]
    const [status, held = ''] = await this.#run(OWN_CONTENT, key, args)
    return status === 'owned' ? 'owned' : parseOwner(key, held)
  }

  async forget(key: string): Promise<'forgotten' | 'absent' | 'running'> {
    const [status] = await this.#run(FORGET, key, [])
    return status === 'forgotten' || status === 'running' ? status : 'absent'
  }

  /** What the key's node does when its memory is full: `noeviction` also where it has no limit, nothing where it does not tell. */
  async readMemoryPolicy(key: string): Promise<string | undefined> {
    const [status, policy] = await this.#run(MEMORY_POLICY, key, [])
    return status === 'told' ? policy : undefined
  }

  async #run(
    script: Script,
    key: string,
    args: readonly string[],
    onLate: () => void = () => undefined,
  ): Promise<readonly string[]> {
    try {
      const reply = await withinDeadline(
        this.#send(script, key, args),
        this.#options.commandTimeoutMs,
        onLate,
      )
      this.#isUp = true
      return (reply as readonly unknown[]).map(String)
    } catch (error) {
      this.#isUp = false
      if (error instanceof StoreUnavailableError) throw error
      throw new StoreUnavailableError(`Redis did not do it: ${asError(error).message}`, {
        cause: error,
      })
    }
  }

  /** By hash, and by text where the server does not know it: the first time, or after a restart. */
  async #send({ sha1, text }: Script, key: string, args: readonly string[]): Promise<unknown> {
    try {
      return await this.#client.bySha(sha1, key, args)
    } catch (error) {
      if (!asError(error).message.startsWith('NOSCRIPT')) throw error
      return this.#client.byText(text, key, args)
    }
  }
}

function leaseOf(token: string): string {
  return `lease ${token}`
}

function markOf({ token, fingerprint, result }: Mark): string {
  return `done ${token} ${fingerprint ?? '-'} ${result ?? ''}`
}

function ownerText({ keyHash, fingerprint }: ContentOwner): string {
  return `content ${keyHash} ${fingerprint}`
}

function parseOwner(key: string, held: string): ContentOwner {
  const [, keyHash, fingerprint] = /^content (\S+) (\S+)$/.exec(held) ?? []
  if (keyHash === undefined || fingerprint === undefined) throw notOurs(key)
  return { keyHash, fingerprint }
}

function notOurs(key: string): StoreRejectedError {
  return new StoreRejectedError(
    `The Redis key ${key} holds what no guard has written; give the guard a prefix of its own`,
  )
}

function parseHeld(key: string, [, held = '', expiresInMs]: readonly string[]): Held {
  if (held.startsWith('lease ')) {
    return { status: 'running', expiresInMs: Math.max(0, Number(expiresInMs)) }
  }
  const mark = /^done \S+ (\S+) ([^]*)$/.exec(held)
  if (mark === null) throw notOurs(key)
  const [, fingerprint, result] = mark
  return {
    status: 'done',
    fingerprint: fingerprint === '-' ? undefined : fingerprint,
    result: result === '' ? undefined : result,
  }
}

function withinDeadline<T>(work: Promise<T>, deadlineMs: number, onLate: () => void): Promise<T> {
  return new Promise((resolve, reject) => {
    let isLate = false
    const timer = setTimeout(() => {
      isLate = true
      reject(new StoreUnavailableError(`Redis did not answer within ${deadlineMs} ms`))
    }, deadlineMs)
    work.then(
      (value) => {
        clearTimeout(timer)
        if (isLate) onLate()
        else resolve(value)
      },
      (error: unknown) => {
        clearTimeout(timer)
        reject(asError(error))
      },
    )
  })
}
