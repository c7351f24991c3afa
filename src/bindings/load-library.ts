import { HookonceError } from '../errors.ts'

/**
 * Loads a library of the user's when a store opens, and never at import: the entry can be imported without it.
 *
 * @throws HookonceError with the code DRIVER_MISSING
 */
export async function loadLibrary<Loaded>(
  name: string,
  load: () => Promise<Loaded>,
): Promise<Loaded> {
  try {
    return await load()
  } catch (cause) {
    throw new HookonceError(
      'DRIVER_MISSING',
      `${name} cannot be loaded, and handlers were promised a tx of it. Run \`npm install ${name}\``,
      { cause },
    )
  }
}

/** What was loaded. A store is opened before it lends anything. */
export function requireLoaded<Loaded>(loaded: Loaded | undefined): Loaded {
  if (loaded === undefined) throw new Error('A binding is loaded before it binds')
  return loaded
}
