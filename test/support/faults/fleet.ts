import type { Random } from './random.ts'
import { Subject } from './subject.ts'
import type { SubjectKind } from './subject.ts'
import type { SubjectConfig } from './subject-messages.ts'

interface Place {
  readonly kind: SubjectKind
  subject: Subject | undefined
}

/** Receivers and workers that are started again whenever one of them is gone, until the fleet is closed. */
export class Fleet {
  readonly #config: SubjectConfig
  readonly #places: readonly Place[]
  readonly #started: Promise<unknown>[] = []
  readonly #collapsed: string[] = []
  #isClosed = false
  /** How many processes were gone and replaced. */
  replaced = 0

  constructor(
    config: SubjectConfig,
    { receivers, workers }: { readonly receivers: number; readonly workers: number },
  ) {
    this.#config = config
    const kinds = [
      ...Array<SubjectKind>(receivers).fill('receiver'),
      ...Array<SubjectKind>(workers).fill('worker'),
    ]
    this.#places = kinds.map((kind) => ({ kind, subject: undefined }))
  }

  /** What processes said that ended though no signal had told them to. */
  get collapsed(): readonly string[] {
    return this.#collapsed
  }

  /** Whether every process has started and none is gone. */
  get isFull(): boolean {
    return this.#places.every(({ subject }) => subject?.isStarted === true)
  }

  async start(): Promise<void> {
    for (const place of this.#places) this.#fill(place)
    await Promise.all(this.#started)
  }

  /** The address of a receiver that is up, or `undefined` while none is. */
  findUrl(random: Random): string | undefined {
    const up = this.#list('receiver')
    return up.length === 0 ? undefined : random.pick(up).url
  }

  /** A process that is up, or `undefined` while none is. */
  find(kind: SubjectKind, random: Random): Subject | undefined {
    const up = this.#list(kind)
    return up.length === 0 ? undefined : random.pick(up)
  }

  async close(): Promise<void> {
    this.#isClosed = true
    for (const { subject } of this.#places) await subject?.kill()
  }

  #list(kind: SubjectKind): readonly Subject[] {
    return this.#places.flatMap((place) => {
      const { subject } = place
      return place.kind === kind && subject?.isStarted === true ? [subject] : []
    })
  }

  #fill(place: Place): void {
    const subject = new Subject(place.kind)
    place.subject = subject
    // One that cannot start, because the database is away, ends and is replaced like any other.
    this.#started.push(subject.start(this.#config).catch(() => subject.kill()))
    void subject.gone.then(({ code, signal }) => {
      if (this.#isClosed) return
      this.replaced += 1
      void this.#noteCollapse(place.kind, subject, signal ?? code ?? 0)
      this.#fill(place)
    })
  }

  /**
   * After SIGTERM a process ends with 0, and by the signal when a second SIGTERM finds it still stopping.
   * SIGKILL is ours, unless it is the watchdog's, which says so.
   */
  async #noteCollapse(kind: SubjectKind, subject: Subject, end: string | number): Promise<void> {
    await subject.closed
    const isTold = end === 0 || end === 'SIGTERM' || end === 'SIGKILL'
    if (isTold && !subject.errors.includes('the event loop was blocked')) return
    const words = `${subject.failure ?? ''}\n${subject.errors.slice(0, 1_500)}`.trim()
    this.#collapsed.push(`a ${kind} ended by itself (${end}): ${words}`)
  }
}
