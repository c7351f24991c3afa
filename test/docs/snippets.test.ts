import { execFile } from 'node:child_process'
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { promisify } from 'node:util'
import { describe, expect, test } from 'vitest'
import { assembleSnippets, compileSnippets, listEntryPaths } from './compile-blocks.ts'
import type { Snippet } from './compile-blocks.ts'
import { listBlocks, listPages, ROOT } from './markdown.ts'

const pages = listPages()
const snippets = pages.flatMap((page) => assembleSnippets(listBlocks(page)))
const runnable = snippets.filter(({ marks }) => marks.includes('run'))

describe('the code in the documentation', () => {
  test('compiles against the source, every block of it', { timeout: 120_000 }, () => {
    expect(compileSnippets(snippets)).toEqual([])
  })

  test('is there in the README', () => {
    expect(snippets.filter(({ page }) => page === 'README.md')).not.toEqual([])
  })

  test.each(runnable.map((snippet) => [`${snippet.page}:${snippet.line}`, snippet] as const))(
    'runs to its end: %s',
    { timeout: 60_000 },
    async (_where, snippet) => {
      expect(await runSnippet(snippet)).toMatchObject({ code: 0 })
    },
  )
})

describe('the snippet check', () => {
  const page = (text: string) => assembleSnippets(listBlocks({ name: 'docs/made-up.md', text }))

  test('names the page and the line of a wrong block', { timeout: 120_000 }, () => {
    const wrong = page('# Title\n\n```ts\nconst one: number = 1\nconst two: string = one\n```\n')

    expect(compileSnippets(wrong)).toEqual([
      "docs/made-up.md:5 Type 'number' is not assignable to type 'string'.",
    ])
  })

  test('refuses an export that the package does not have', { timeout: 120_000 }, () => {
    const wrong = page("```ts\nimport { noSuchThing } from 'hookonce'\nnoSuchThing()\n```\n")

    expect(compileSnippets(wrong)).toHaveLength(1)
  })

  test('reads a block marked continue after the one before it, and any other alone', () => {
    const text =
      '```ts\nconst one = 1\n```\nand\n```ts continue\none.toFixed()\n```\n```ts\nalone\n```\n'

    const [first, second, ...others] = page(text)

    expect(first?.code).toBe('\nconst one = 1\n\n\n\none.toFixed()')
    expect(second?.code.trim()).toBe('alone')
    expect(others).toEqual([])
  })

  test('sees a run that fails', { timeout: 60_000 }, async () => {
    const [failing] = page("```ts run\nthrow new Error('on purpose')\n```\n")

    const result = await runSnippet(failing!)

    expect(result.code).not.toBe(0)
    expect(result.stderr).toContain('on purpose')
  })
})

/** Runs a snippet in a folder of its own, where `hookonce` is the source. */
async function runSnippet({ code }: Snippet): Promise<{ code: number; stderr: string }> {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'hookonce-snippet-'))
  try {
    for (const name of ['src', 'node_modules']) {
      fs.symlinkSync(path.join(ROOT, name), path.join(folder, name))
    }
    const compilerOptions = { module: 'nodenext', target: 'es2023', paths: listEntryPaths('.') }
    fs.writeFileSync(path.join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions }))
    fs.writeFileSync(path.join(folder, 'package.json'), '{"type":"module"}')
    fs.writeFileSync(path.join(folder, 'snippet.ts'), `${code}\nexport {}\n`)
    const tsx = path.join(ROOT, 'node_modules/.bin/tsx')
    const { stderr } = await promisify(execFile)(tsx, ['snippet.ts'], {
      cwd: folder,
      timeout: 50_000,
    })
    return { code: 0, stderr }
  } catch (error) {
    const { code, stderr } = error as { code?: number | null; stderr?: string }
    return { code: code ?? -1, stderr: stderr ?? String(error) }
  } finally {
    fs.rmSync(folder, { recursive: true, force: true })
  }
}
