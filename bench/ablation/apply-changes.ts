import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Change } from './parts.ts'

/** Makes the changes in a copy of the repository. Says what does not fit, and then has changed nothing of that file. */
export function applyChanges(root: string, changes: readonly Change[]): string | undefined {
  for (const { file, search, replace } of changes) {
    const path = join(root, file)
    const text = readFileSync(path, 'utf8')
    const count = text.split(search).length - 1
    if (count !== 1) return `its text is ${count} times in ${file}`
    writeFileSync(
      path,
      text.replace(search, () => replace),
    )
  }
  return undefined
}
