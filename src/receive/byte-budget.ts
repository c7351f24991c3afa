/** A number of bytes that all bodies on their way share. The reader of a body takes some, and gives them back. */
export class ByteBudget {
  readonly #bytesMax: number
  #taken = 0

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax
  }

  get taken(): number {
    return this.#taken
  }

  hasRoom(bytes: number): boolean {
    return this.#taken + bytes <= this.#bytesMax
  }

  /** `false` when there is no room; nothing is taken then. */
  take(bytes: number): boolean {
    if (!this.hasRoom(bytes)) return false
    this.#taken += bytes
    return true
  }

  giveBack(bytes: number): void {
    this.#taken -= bytes
  }
}
