import type { Change } from './parts.ts'

export type Changed =
  /** The changed files, by their paths. */
  | { readonly texts: ReadonlyMap<string, string> }
  /** Why a change does not fit the source any more. */
  | { readonly stale: string }

export function applyChanges(
  changes: readonly Change[],
  read: (file: string) => string | undefined,
): Changed {
  const texts = new Map<string, string>()
  for (const { file, search, replace } of changes) {
    const text = texts.get(file) ?? read(file)
    if (text === undefined) return { stale: `there is no ${file}` }
    const count = text.split(search).length - 1
    if (count !== 1) return { stale: `its text is ${count} times in ${file}` }
    texts.set(
      file,
      text.replace(search, () => replace),
    )
  }
  return { texts }
}
