import { OptionInvalidError } from '../errors.ts'
import { didYouMean } from './did-you-mean.ts'

/** Options have a known set of names; a misspelt one must not be a silent default, nor what is no object of options. */
export function rejectUnknownKeys(path: string, given: unknown, known: readonly string[]): void {
  if (typeof given !== 'object' || given === null || Array.isArray(given))
    throw new OptionInvalidError(path, `an object with any of ${known.join(', ')}`, given)
  for (const key of Object.keys(given)) {
    if (known.includes(key)) continue
    // A name is a few plain characters; what was passed by mistake may be anything.
    const name = key.slice(0, 60).replace(/[^\x20-\x7e]/g, '?')
    const message = `${path}: unknown option "${name}"${didYouMean(key, known)} There are: ${known.join(', ')}`
    throw new OptionInvalidError(`${path}.${key}`, { message })
  }
}
