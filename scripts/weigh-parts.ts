/**
 * How many bytes each part of the package has, and whether docs/sizing.md says so. Part of `npm run check:package`.
 *
 * @module
 */

/** One row of the page: a part, and what begins the paths of its files. The first that fits counts. */
export const PARTS: readonly { readonly name: string; readonly paths: readonly string[] }[] = [
  { name: 'the command and the gateway', paths: ['dist/cli/', 'dist/gateway/'] },
  { name: 'the pages, and the references', paths: ['docs/', 'CHANGELOG.md', 'README.md'] },
  { name: 'what jest requires', paths: ['dist/commonjs/'] },
  { name: 'the store for PostgreSQL', paths: ['dist/store/postgres/'] },
  { name: 'the kit for tests', paths: ['dist/testing/'] },
  { name: 'the store for SQLite', paths: ['dist/store/sqlite/'] },
  { name: 'the providers', paths: ['dist/providers/'] },
  { name: 'database libraries', paths: ['dist/bindings/', 'dist/own-tx/'] },
  { name: 'the Redis guard', paths: ['dist/guard/'] },
  { name: 'everything else: receiving, running, sending, operators', paths: [''] },
]

interface PackedFile {
  readonly path: string
  readonly size?: number
}

/** The bytes of each part, unpacked, in the order of `PARTS`. */
export function weighParts(files: readonly PackedFile[]): ReadonlyMap<string, number> {
  const weights = new Map(PARTS.map(({ name }) => [name, 0]))
  for (const { path, size = 0 } of files) {
    const part = PARTS.find(({ paths }) => paths.some((begin) => path.startsWith(begin)))
    if (part !== undefined) weights.set(part.name, (weights.get(part.name) ?? 0) + size)
  }
  return weights
}

/** How far a figure of the page may be off: it is for a person who asks what is large. */
const OFF_MAX = 0.1

/** What the page says otherwise, or does not say. */
export function findStaleWeights(
  page: string,
  weights: ReadonlyMap<string, number>,
): readonly string[] {
  return [...weights].flatMap(([name, bytes]) => {
    const said = findWeight(page, name)
    if (said !== undefined && Math.abs(said - bytes) <= OFF_MAX * bytes) return []
    return [`docs/sizing.md says ${said ?? 'nothing'} of the bytes of ${name}, which are ${bytes}`]
  })
}

/** The figure beside a name in a table: `| name | 1,234,000 |`. */
function findWeight(page: string, name: string): number | undefined {
  const row = page.split('\n').find((line) => line.startsWith(`| ${name} `))
  const figure = row?.split('|')[2]?.trim().replaceAll(',', '') ?? ''
  return /^\d+$/.test(figure) ? Number(figure) : undefined
}
