/** What people need to know of a provider beyond its declaration. Shown on its page. */
export interface ProviderNotes {
  /** As the provider writes itself. */
  readonly name: string
  /** How to set it up: a list of steps, in order. */
  readonly setUp: readonly string[]
  /** What goes wrong, what is not covered, and what follows from it. */
  readonly traps: readonly string[]
  /** In words, where the declaration's places do not read well: what an event is known by. */
  readonly key?: string
  /** In words: where the type is, where the declaration has code. */
  readonly type?: string
  /** The options of the example, as code, beside or in place of the scheme's own. */
  readonly exampleOptions?: string
  /** Whether only some need the public URL, so that the example is without it. */
  readonly publicUrlIsOptional?: true
}
