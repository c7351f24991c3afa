/**
 * The ready-made sources. They are called alike and differ in what their senders do, which a page of each tells: one
 * table leads there.
 *
 * @module
 */

import fs from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import type { ApiExport } from './read-api.ts'
import { writeTable } from './write-table.ts'

const PAGES = fileURLToPath(new URL('../../docs/providers', import.meta.url))

export const VENDORS_HEADING = 'Ready-made'

/** Options that a vendor alone has are told of as any other type is. */
export function isOfVendor({ name, kind, file }: ApiExport): boolean {
  const isInFolder = /\/providers\/vendors\/[^/]+$/.test(file)
  return isInFolder && !(kind === 'interface' && name.endsWith('Options'))
}

export function writeVendors(
  exports: readonly ApiExport[],
  link: (id: string) => string,
): readonly string[] {
  const own = exports.filter(isOfVendor)
  const vendors = own.filter(({ kind }) => kind === 'constant')
  if (vendors.length === 0) return []
  const rows = vendors.map((vendor) => {
    const beside = exports.filter(({ file }) => file === vendor.file)
    const types = beside.filter((one) => one !== vendor && !one.name.endsWith('Options'))
    return [
      `[\`${vendor.name}\`](${findProviderPage(vendor)})`,
      writeOptions(beside, link),
      types.map(({ name }) => `\`${name}\``).join(', '),
    ]
  })
  return [
    `## ${VENDORS_HEADING}`,
    'Each is called with its options and gives a source. The page of each says how its sender signs, what identifies an event and what to set up.',
    writeTable(['provider', 'options', 'types of its events'], rows),
  ]
}

function findProviderPage({ name, file }: ApiExport): string {
  const page = `${path.basename(file, '.ts')}.md`
  if (!fs.existsSync(path.join(PAGES, page))) throw new Error(`${name} has no page of its own`)
  return `../../providers/${page}`
}

/** Its type of options, and what that is another name for, where it has no members of its own. */
function writeOptions(beside: readonly ApiExport[], link: (id: string) => string): string {
  const options = beside.filter(({ name }) => name.endsWith('Options'))
  return options
    .map(({ id, name, kind, signature, uses }) => {
      if (kind === 'interface') return link(id)
      const parts = signature.slice(signature.indexOf('=') + 1).split('&')
      const links = parts.map((part) => {
        const used = uses.find((one) => one.endsWith(`#${part.trim()}`))
        return used === undefined ? `\`${part.trim()}\`` : link(used)
      })
      return `\`${name}\` = ${links.join(' & ')}`
    })
    .join(', ')
}
