/**
 * Writes the reference of everything that the package exports from its documentation comments: a page for each entry,
 * and one that lists them.
 *
 *     npm run generate:api
 *
 * @module
 */

import fs from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { readApi } from './api-docs/read-api.ts'
import type { ApiEntry } from './api-docs/read-api.ts'
import { listPlaces, pageOf, writePage } from './api-docs/write-page.ts'
import { writeTable } from './api-docs/write-table.ts'

const ROOT = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '..')

/** From the root of the repository. Nothing else is in it. */
export const API_FOLDER = 'docs/reference/api'

/** The files and what they should say. */
export function generateApiDocs(): Readonly<Record<string, string>> {
  const entries = readApi()
  const places = listPlaces(entries)
  return Object.fromEntries([
    [`${API_FOLDER}/README.md`, writeIndex(entries)],
    ...entries.map((entry) => [`${API_FOLDER}/${pageOf(entry)}`, writePage(entry, places)]),
  ]) as Record<string, string>
}

function writeIndex(entries: readonly ApiEntry[]): string {
  const rows = entries.map((entry) => [
    `[\`${entry.specifier}\`](${pageOf(entry)})`,
    String(entry.exports.length + entry.elsewhere.length),
    entry.text.split(/\n\s*\n/)[0] ?? '',
  ])
  return [
    '# The API, entry by entry',
    'Everything that the package exports: declarations as the compiler sees them, with their documentation comments. `npm run generate:api` makes these pages from the source.',
    writeTable(['import from', 'exports', 'what it is'], rows),
    'Options with their defaults are also [on one page](../options.md), and so are [errors](../errors.md), [happenings](../happenings.md), [`inbox.admin`](../admin.md) and [refusals](../refusals.md).',
    '',
  ]
    .join('\n\n')
    .replace(/\n+$/, '\n')
}

function main(): void {
  const folder = path.join(ROOT, API_FOLDER)
  // A page of an entry that is no more goes as well.
  fs.rmSync(folder, { recursive: true, force: true })
  fs.mkdirSync(folder, { recursive: true })
  for (const [file, text] of Object.entries(generateApiDocs()))
    fs.writeFileSync(path.join(ROOT, file), text)
}

if (process.argv[1] === fileURLToPath(import.meta.url)) main()
