/**
 * Draws which part of the source tree imports which, into ARCHITECTURE.md.
 *
 *     npx tsx scripts/draw-parts.ts
 *
 * An arrow that follows from two others is left out, so that the picture shows the layers and not every import.
 *
 * @module
 */

import fs from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { listPartImports } from './check-imports.ts'
import { IMPORT_RULES } from './import-rules.ts'

const ROOT = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '..')
const PAGE = path.join(ROOT, 'ARCHITECTURE.md')
const BEGIN = '<!-- drawn by scripts/draw-parts.ts -->\n\n```mermaid\n'
const END = '```\n\n<!-- end of the drawing -->'

type Edges = ReadonlyMap<string, ReadonlySet<string>>

/** The picture of a source tree, in the language of mermaid. */
export function drawParts(root: string): string {
  const edges = listPartImports(root)
  const lines = [...edges].flatMap(([part, targets]) =>
    [...targets]
      .filter(
        (target) => ![...targets].some((via) => via !== target && reaches(edges, via, target)),
      )
      .map((target) => `  ${part} --> ${target}\n`),
  )
  return `flowchart TD\n${lines.sort().join('')}`
}

/** Parts that may import each other, by way of others or not. There must be none. */
export function listPartCycles(): readonly string[] {
  const allowed: Edges = new Map(IMPORT_RULES.map((rule) => [rule.part, new Set(rule.mayImport)]))
  return [...allowed.keys()].filter((part) =>
    [...(allowed.get(part) ?? [])].some((target) => reaches(allowed, target, part)),
  )
}

/** What ARCHITECTURE.md shows now. */
export function readPicture(): string {
  const page = fs.readFileSync(PAGE, 'utf8')
  return page.slice(page.indexOf(BEGIN) + BEGIN.length, page.indexOf(END))
}

function reaches(edges: Edges, from: string, to: string, seen = new Set<string>()): boolean {
  if (seen.has(from)) return false
  seen.add(from)
  const targets = edges.get(from) ?? new Set()
  return targets.has(to) || [...targets].some((next) => reaches(edges, next, to, seen))
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const page = fs.readFileSync(PAGE, 'utf8')
  const begin = page.indexOf(BEGIN) + BEGIN.length
  const picture = drawParts(path.join(ROOT, 'src'))
  fs.writeFileSync(PAGE, page.slice(0, begin) + picture + page.slice(page.indexOf(END)))
}
