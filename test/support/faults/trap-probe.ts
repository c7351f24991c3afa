import { appendFileSync, existsSync, readFileSync } from 'node:fs'
import type { Boundary } from './probed-client.ts'
import { TRAP } from './subject-messages.ts'
import type { CountedTrap, Trap, UnseenTrap } from './subject-messages.ts'

/** Sees every statement of its process pass, and acts at the boundary it was told of. */
export class TrapProbe {
  readonly #reach: (point: string) => Promise<void>
  #counted: CountedTrap | undefined
  #passed = 0
  #isCounting = false
  #unseen: UnseenBoundaries | undefined

  constructor(reach: (point: string) => Promise<void>) {
    this.#reach = reach
  }

  arm(trap: Trap): void {
    this.#counted = 'at' in trap ? trap : undefined
    this.#unseen = 'at' in trap ? undefined : new UnseenBoundaries(trap)
    this.#passed = 0
    this.#isCounting = false
  }

  pass(boundary: Boundary): Promise<void> | undefined {
    if (this.#unseen?.isFirstAt(boundary) === true) return dieHere()
    const trap = this.#counted
    if (trap === undefined || !this.#isIt(trap, boundary)) return undefined
    return trap.then === 'pause' ? this.#reach(TRAP) : dieHere()
  }

  #isIt(trap: CountedTrap, { text, phase }: Boundary): boolean {
    this.#isCounting ||= new RegExp(trap.from ?? '', 'i').test(text)
    if (!this.#isCounting) return false
    if (trap.phase !== undefined && trap.phase !== phase) return false
    if (trap.matches !== undefined && !new RegExp(trap.matches, 'i').test(text)) return false
    this.#passed += 1
    return this.#passed === trap.at
  }
}

/**
 * Boundaries by name, for processes that each die at one where no process before them has died.
 *
 * A name is the phase and the statement, for the end of a transaction with all that was done in it, and how often it
 * has come: in its transaction, or in the process outside of one. It says nothing of what other connections do
 * meanwhile, so that it is the same however the machine lets them overtake each other.
 */
class UnseenBoundaries {
  readonly #file: string
  readonly #except: RegExp | undefined
  readonly #seen: ReadonlySet<string>
  /** How often each boundary was passed by a connection in its transaction. */
  readonly #inTransaction = new WeakMap<object, Map<string, number>>()
  /** The same for the process: ends of transactions, and what is in none, whichever connection the pool gave it. */
  readonly #outside = new Map<string, number>()

  constructor({ diedAt, except }: UnseenTrap) {
    this.#file = diedAt
    this.#except = except === undefined ? undefined : new RegExp(except, 'i')
    this.#seen = new Set(existsSync(diedAt) ? readFileSync(diedAt, 'utf8').split('\n') : [])
  }

  /** Whether this process is the first one here, which is written down. */
  isFirstAt(boundary: Boundary): boolean {
    const isWithin = this.#inTransaction.has(boundary.connection)
    const name = this.#nameOf(boundary)
    // Between the answer to a statement and the next one of its transaction nothing happens: a process dies there
    // when it dies before the next one. That left out spares a third of the processes.
    if (isWithin && boundary.phase === 'after' && !ENDS.test(flatten(boundary.text))) return false
    if (this.#seen.has(name) || this.#except?.test(name) === true) return false
    // Done when the call returns: what the system was given survives the process.
    appendFileSync(this.#file, `${name}\n`)
    return true
  }

  #nameOf({ text, phase, connection }: Boundary): string {
    const flat = flatten(text)
    const name = `${phase}: ${flat.slice(0, NAME_LENGTH)}`
    if (BEGINS.test(flat)) {
      if (phase === 'before') this.#inTransaction.set(connection, new Map())
      return name
    }
    const passed = this.#inTransaction.get(connection) ?? this.#outside
    if (!ENDS.test(flat)) return countIn(passed, name)
    if (phase === 'after') this.#inTransaction.delete(connection)
    const done = [...passed.keys()].filter((each) => DONE.test(each))
    const what = done.map((each) => each.replace(DONE, '').slice(0, DONE_LENGTH)).join(' + ')
    // What is rolled back was mostly a look for work, of which there are many.
    return COMMITS.test(flat) ? countIn(this.#outside, `${name} of ${what}`) : `${name} of ${what}`
  }
}

/** On one line. What is looked at in the round trip of a transaction's end is no boundary of its own. */
function flatten(text: string): string {
  return text.trim().replaceAll(/\s+/g, ' ').replace(LOOKS_AFTER, '')
}

/** The name with its number, from the second time on. */
function countIn(passed: Map<string, number>, name: string): string {
  const nth = Math.min((passed.get(name) ?? 0) + 1, NTH_MAX)
  passed.set(name, nth)
  return nth === 1 ? name : `${name} (${nth})`
}

const NAME_LENGTH = 120
/** There is always one more: another look for work, or in one transaction the crash of another that died before. */
const NTH_MAX = 5
const BEGINS = /^(?:rollback; )?begin\b/i
const ENDS = /(?:^|; )(?:commit|rollback)$/i
const COMMITS = /commit$/i
const LOOKS_AFTER = /(?<=(?:^|; )(?:commit|rollback)); select .*/i
/** Of what a transaction has done, to tell it from others. */
const DONE = /^before: (?!savepoint|release|rollback|pragma)/
const DONE_LENGTH = 60

function dieHere(): Promise<void> {
  process.kill(process.pid, 'SIGKILL')
  return new Promise(() => undefined)
}
