/**
 * The page of one entry of the package.
 *
 * @module
 */

import type { ExportKind } from './declarations.ts'
import type { DocText } from './doc-text.ts'
import type { ApiEntry, ApiExport, ApiMember } from './read-api.ts'
import { isOfVendor, VENDORS_HEADING, writeVendors } from './vendors.ts'
import { writeTable } from './write-table.ts'

/** The headings of a page, and what is under each. Vendors are told of together. */
const GROUPS: Readonly<Record<string, readonly ExportKind[]>> = {
  Functions: ['function'],
  Classes: ['class'],
  Constants: ['constant'],
  Types: ['interface', 'type'],
}

interface Group {
  readonly heading: string
  readonly exports: readonly ApiExport[]
}

function listGroups({ exports }: ApiEntry): readonly Group[] {
  return Object.entries(GROUPS)
    .map(([heading, kinds]) => ({
      heading,
      exports: exports.filter((one) => kinds.includes(one.kind) && !isOfVendor(one)),
    }))
    .filter((group) => group.exports.length > 0)
}

/** The name of its file: `hookonce/drizzle/sqlite` has `drizzle-sqlite.md`. */
export function pageOf({ specifier }: Pick<ApiEntry, 'specifier'>): string {
  return `${specifier.split('/').slice(1).join('-') || specifier}.md`
}

/** Where each export is told of, by its id: the page and the anchor that GitHub gives its heading. */
export function listPlaces(entries: readonly ApiEntry[]): ReadonlyMap<string, string> {
  const places = new Map<string, string>()
  for (const entry of entries) {
    const used = new Map<string, number>()
    const anchor = (heading: string): string => {
      const slug = heading.toLowerCase().replaceAll(/[^\w-]/g, '')
      const count = used.get(slug) ?? 0
      used.set(slug, count + 1)
      return `${pageOf(entry)}#${count === 0 ? slug : `${slug}-${count}`}`
    }
    anchor(entry.specifier)
    const ofVendors = entry.exports.filter(isOfVendor)
    if (ofVendors.length > 0) {
      const place = anchor(VENDORS_HEADING)
      for (const { id } of ofVendors) places.set(id, place)
    }
    for (const { heading, exports } of listGroups(entry)) {
      anchor(heading)
      for (const { id, name } of exports) places.set(id, anchor(name))
    }
  }
  return places
}

export function writePage(entry: ApiEntry, places: ReadonlyMap<string, string>): string {
  const page = pageOf(entry)
  const link = (id: string): string => {
    const place = places.get(id)
    if (place === undefined) throw new Error(`${id} is told of nowhere`)
    const target = place.startsWith(`${page}#`) ? place.slice(page.length) : place
    return `[\`${id.slice(id.indexOf('#') + 1)}\`](${target})`
  }
  const groups = listGroups(entry)
  const paragraphs = [
    `# \`${entry.specifier}\``,
    entry.text,
    ...groups.map(
      ({ heading, exports }) => `${heading}: ${exports.map((one) => link(one.id)).join(', ')}.`,
    ),
    ...(entry.elsewhere.length === 0
      ? []
      : [`Exported here too: ${entry.elsewhere.map(link).join(', ')}.`]),
    ...writeVendors(entry.exports, link),
    ...groups.flatMap(({ heading, exports }) => [
      `## ${heading}`,
      ...exports.flatMap((one) => writeExport(one, link)),
    ]),
  ]
  return `${paragraphs.filter((text) => text !== '').join('\n\n')}\n`
}

function writeExport(one: ApiExport, link: (id: string) => string): readonly string[] {
  return [
    `### \`${one.name}\``,
    one.doc.text,
    writeBlock(one.signature),
    writeTags(one.doc),
    writeProperties(one.properties),
    ...one.methods.flatMap((method) => [
      method.doc.text === '' ? '' : `**\`${method.name}\`** ${method.doc.text}`,
      writeBlock(method.signature),
      writeTags(method.doc),
    ]),
    one.uses.length === 0 ? '' : `See ${one.uses.map(link).join(', ')}.`,
  ]
}

/** The mark tells the check of snippets that there is nothing to compile: the source was. */
function writeBlock(signature: string): string {
  return signature === '' ? '' : `\`\`\`ts excerpt\n${signature}\n\`\`\``
}

function writeTags({ params, returns, throws, defaultValue }: DocText): string {
  return [
    ...params.map((text) => `- ${oneLine(text)}`),
    ...returns.map((text) => `- Returns ${oneLine(text)}`),
    ...throws.map((text) => `- Throws ${oneLine(text)}`),
    ...(defaultValue === undefined ? [] : [`- Default: ${oneLine(defaultValue)}`]),
  ].join('\n')
}

function oneLine(text: string): string {
  return text.replaceAll(/\s*\n\s*/g, ' ')
}

/** With a column for defaults where one is said. */
function writeProperties(properties: readonly ApiMember[]): string {
  if (properties.length === 0) return ''
  const hasDefaults = properties.some(({ doc }) => doc.defaultValue !== undefined)
  const head = ['member', 'type', ...(hasDefaults ? ['default'] : []), 'meaning']
  const rows = properties.map(({ name, isOptional, signature, doc }) => [
    `\`${name}${isOptional ? '?' : ''}\``,
    `\`${signature}\``,
    ...(hasDefaults ? [doc.defaultValue ?? ''] : []),
    [doc.text, ...doc.throws.map((text) => `Throws ${text}`)].join('\n\n').trim(),
  ])
  return writeTable(head, rows)
}
