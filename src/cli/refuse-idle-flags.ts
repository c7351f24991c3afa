import { OptionInvalidError } from '../errors.ts'

/**
 * Refuses flags that have no effect beside the others. Who says one means it, and would take the answer for one that
 * heeds it.
 *
 * @throws OptionInvalidError with `advice`, which says what the flag is for or what to say in its place
 */
export function refuseIdleFlags<Flags extends object>(
  flags: Flags,
  idle: readonly (keyof Flags & string)[],
  advice: string,
): void {
  const found = idle.find((name) => isSaid(flags[name]))
  if (found === undefined) return
  const flag = `--${found.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`
  throw new OptionInvalidError(flag, { message: `${flag} has no effect here: ${advice}` })
}

/** A flag that can be given several times begins with none. */
function isSaid(value: unknown): boolean {
  return value !== undefined && !(Array.isArray(value) && value.length === 0)
}
