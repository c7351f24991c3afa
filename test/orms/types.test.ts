import path from 'node:path'
import ts from 'typescript'
import { describe, expect, test } from 'vitest'
import { assembleSnippets, compileSnippets } from '../docs/compile-blocks.ts'
import { listBlocks, listPages, ROOT } from '../docs/markdown.ts'

/** What the root's own check of types leaves out, since the libraries are installed here alone. */
describe('the types of the libraries', () => {
  test('reach the handlers in the tests of this folder', { timeout: 600_000 }, () => {
    const folder = path.posix.join(ROOT, 'test/orms')
    const file = path.join(folder, 'tsconfig.json')
    const { config } = ts.readConfigFile(file, (name) => ts.sys.readFile(name)) as {
      config: object
    }
    const { options, fileNames } = ts.parseJsonConfigFileContent(config, ts.sys, folder)
    const program = ts.createProgram(fileNames, options)

    const diagnostics = fileNames.flatMap((name) => {
      const source = program.getSourceFile(name)
      return [...program.getSyntacticDiagnostics(source), ...program.getSemanticDiagnostics(source)]
    })

    expect(fileNames.length).toBeGreaterThan(3)
    expect(
      diagnostics.map(
        ({ file: at, messageText }) =>
          `${at?.fileName ?? ''} ${ts.flattenDiagnosticMessageText(messageText, ' ')}`,
      ),
    ).toEqual([])
  })

  test('reach the handlers in the documentation', { timeout: 600_000 }, () => {
    const snippets = listPages()
      .flatMap((page) => assembleSnippets(listBlocks(page)))
      .filter(({ marks }) => marks.includes('orms'))

    expect(snippets).not.toEqual([])
    expect(compileSnippets(snippets, 'test/orms')).toEqual([])
  })
})
