import { didYouMean } from '../options/did-you-mean.ts'
import { HookonceError } from '../errors.ts'

/** @throws HookonceError with the code SOURCE_UNKNOWN, and the names that there are */
export function requireSource(
  sources: Pick<ReadonlyMap<string, unknown>, 'has' | 'keys'>,
  source: string,
): void {
  if (sources.has(source)) return
  throw new HookonceError(
    'SOURCE_UNKNOWN',
    `There is no source "${source}"${didYouMean(source, sources.keys())} Configured: ${[...sources.keys()].join(', ') || 'none'}`,
  )
}
