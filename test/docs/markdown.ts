/**
 * As much Markdown as the documentation tests need: fenced blocks, headings with the anchors that
 * GitHub gives them, links and tables.
 *
 * @module
 */

import fs from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'

export const ROOT = fileURLToPath(new URL('../..', import.meta.url))

/** A page, its name from the root of the repository. */
export interface Page {
  readonly name: string
  readonly text: string
}

export interface Block {
  readonly page: string
  readonly language: string
  /** The words after the language, such as `run` or `continue`. */
  readonly marks: readonly string[]
  /** The line of its first line of code, from 1. */
  readonly line: number
  readonly code: string
}

/** The pages at the root and everything under `docs/`, `src/` and `examples/`, those that exist. */
export function listPages(): readonly Page[] {
  const atRoot = ['README.md', 'ARCHITECTURE.md', 'CONTRIBUTING.md', 'CHANGELOG.md']
  const below = ['docs', 'src', 'examples'].flatMap((folder) =>
    fs
      .readdirSync(path.join(ROOT, folder), { recursive: true, encoding: 'utf8' })
      .map((name) => `${folder}/${name.split(path.sep).join('/')}`)
      .filter((name) => !name.includes('/node_modules/'))
      .sort(),
  )
  return [...atRoot, ...below]
    .filter((name) => name.endsWith('.md') && fs.existsSync(path.join(ROOT, name)))
    .map((name) => readPage(name))
}

export function readPage(name: string): Page {
  return { name, text: fs.readFileSync(path.join(ROOT, name), 'utf8') }
}

export function listBlocks({ name, text }: Page): readonly Block[] {
  const blocks: Block[] = []
  const lines = text.split('\n')
  for (let at = 0; at < lines.length; at++) {
    const opening = /^( *)(`{3,}|~{3,})\s*(\S*)\s*(.*)$/.exec(lines[at] ?? '')
    if (opening === null) continue
    const [, indent = '', fence = '', language = '', info = ''] = opening
    const start = at + 1
    at = lines.findIndex((line, index) => index >= start && line.trim() === fence)
    if (at < 0) throw new Error(`${name}:${start} opens a block that nothing closes`)
    const code = lines
      .slice(start, at)
      .map((line) => line.replace(new RegExp(`^ {0,${indent.length}}`), ''))
    const marks = info.split(/\s+/).filter((mark) => mark !== '')
    blocks.push({ page: name, language, marks, line: start + 1, code: code.join('\n') })
  }
  return blocks
}

/** The text of a page without its fenced blocks; every line keeps its number. */
export function stripBlocks(page: Page): string {
  const lines = page.text.split('\n')
  for (const block of listBlocks(page)) {
    const count = block.code.split('\n').length
    for (let offset = -1; offset <= count; offset++) lines[block.line - 1 + offset] = ''
  }
  return lines.join('\n')
}

export function listHeadings(page: Page): readonly string[] {
  return [...stripBlocks(page).matchAll(/^#{1,6}\s+(.+?)\s*#*$/gm)].map((match) => match[1] ?? '')
}

/** The anchors of a page as GitHub makes them: lower case, no punctuation, numbered when they repeat. */
export function listAnchors(page: Page): ReadonlySet<string> {
  const seen = new Map<string, number>()
  const anchors = new Set<string>()
  for (const heading of listHeadings(page)) {
    const words = heading.replace(/\[([^\]]*)\]\([^)]*\)/g, '$1').toLowerCase()
    const slug = words.replace(/[^\p{L}\p{N}\p{M}_\- ]/gu, '').replace(/ /g, '-')
    const count = seen.get(slug) ?? 0
    seen.set(slug, count + 1)
    anchors.add(count === 0 ? slug : `${slug}-${count}`)
  }
  return anchors
}

/** The targets of a page's links and pictures, without those in code. */
export function listLinks(
  page: Page,
): readonly { readonly target: string; readonly line: number }[] {
  const inline = /\]\(\s*<?([^)\s>]+)>?(?:\s+"[^"]*")?\s*\)/g
  const definition = /^\s*\[[^\]]+\]:\s*<?(\S+?)>?(?:\s+"[^"]*")?\s*$/g
  const html = /\b(?:href|src)="([^"]+)"/g
  return stripBlocks(page)
    .split('\n')
    .flatMap((text, index) => {
      const prose = text.replace(/`[^`]*`/g, '')
      const matches = [inline, definition, html].flatMap((pattern) => [...prose.matchAll(pattern)])
      return matches.map((match) => ({ target: match[1] ?? '', line: index + 1 }))
    })
}

/** The rows of every table whose header has exactly these columns. Cells lose their backticks. */
export function listTableRows(
  page: Page,
  columns: readonly string[],
): readonly (readonly string[])[] {
  const rows: (readonly string[])[] = []
  let inside = false
  for (const line of stripBlocks(page).split('\n')) {
    const cells = line.trim().startsWith('|') ? splitCells(line) : undefined
    if (cells === undefined) inside = false
    else if (cells.join('|') === columns.join('|')) inside = true
    else if (inside && !cells.every((cell) => /^:?-+:?$/.test(cell))) rows.push(cells)
  }
  return rows
}

function splitCells(line: string): readonly string[] {
  const inner = line.trim().replace(/^\|/, '').replace(/\|$/, '')
  return inner.split('|').map((cell) => cell.trim().replaceAll('`', ''))
}
