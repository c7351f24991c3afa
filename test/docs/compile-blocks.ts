import path from 'node:path'
import ts from 'typescript'
import type { Block } from './markdown.ts'
import { ROOT } from './markdown.ts'

/** A block of code as a module of its own, its lines where the page has them. */
export interface Snippet {
  readonly page: string
  readonly line: number
  readonly marks: readonly string[]
  readonly code: string
}

/**
 * Turns the TypeScript blocks of one page into modules. A block marked `continue` is added to the
 * one before it, as a reader would read it; one marked `fails` is shown in between, and nothing continues it.
 */
export function assembleSnippets(blocks: readonly Block[]): readonly Snippet[] {
  const snippets: Snippet[] = []
  for (const block of blocks) {
    if (block.language !== 'ts' && block.language !== 'typescript') continue
    const last = snippets.findLastIndex(({ marks }) => !marks.includes('fails'))
    const continues = block.marks.includes('continue') && last >= 0
    const before = continues ? snippets.splice(last, 1)[0] : undefined
    if (before === undefined && block.marks.includes('continue')) {
      throw new Error(`${block.page}:${block.line} continues nothing`)
    }
    snippets.push({
      page: block.page,
      line: before?.line ?? block.line,
      marks: [...(before?.marks ?? []), ...block.marks],
      code: padTo(before?.code ?? '', block.line) + block.code,
    })
  }
  return snippets
}

/** Adds empty lines, so that what is added next starts at `line`: errors then name lines of the page. */
function padTo(code: string, line: number): string {
  return code + '\n'.repeat(line - 1 - (code.split('\n').length - 1))
}

/**
 * What the compiler says of the snippets, as `page:line message`. Types are checked against `src`, and packages are
 * looked for where `folder` would find them.
 */
export function compileSnippets(
  snippets: readonly Snippet[],
  folder = 'test/docs',
): readonly string[] {
  const texts = new Map(snippets.map((snippet) => [snippetFile(snippet, folder), snippet]))
  return compile(texts, readCompilerOptions())
}

/**
 * What the compiler says of the files of a service in Next.js: blocks that begin with their path as a comment, and find
 * each other as Next.js finds them. Of the framework itself there is only what the blocks use of it; `npm run
 * test:bundlers` builds with all of it.
 */
export function compileService(blocks: readonly Block[]): readonly string[] {
  const file = (name: string) => path.posix.join(ROOT, 'test/docs/generated/service', name)
  const texts = new Map<string, Snippet>([[file('next-server.ts'), NEXT_SERVER]])
  for (const { page, line, marks, code } of blocks)
    texts.set(file(findPath(code) ?? `${line}.tsx`), {
      page,
      line,
      marks,
      code: padTo('', line) + code,
    })
  return compile(texts, {
    ...readCompilerOptions(),
    module: ts.ModuleKind.ESNext,
    moduleResolution: ts.ModuleResolutionKind.Bundler,
    rewriteRelativeImportExtensions: false,
    jsx: ts.JsxEmit.Preserve,
    paths: { ...listEntryPaths('.'), 'next/server': [file('next-server.ts')] },
  })
}

/** The file that a block is, by the comment in its first line. */
export function findPath(code: string): string | undefined {
  return /^\/\/ (\S+\.tsx?)\n/.exec(code)?.[1]
}

const NEXT_SERVER: Snippet = {
  page: 'next/server',
  line: 1,
  marks: [],
  code: 'export declare function after(task: Promise<unknown> | (() => unknown)): void',
}

function compile(
  texts: ReadonlyMap<string, Snippet>,
  options: ts.CompilerOptions,
): readonly string[] {
  const host = ts.createCompilerHost(options)
  const onDisk = ts.createCompilerHost(options)
  host.fileExists = (file) => texts.has(file) || onDisk.fileExists(file)
  host.directoryExists = (folder) =>
    [...texts.keys()].some((file) => file.startsWith(`${folder}/`)) ||
    (onDisk.directoryExists?.(folder) ?? true)
  host.readFile = (file) => texts.get(file)?.code ?? onDisk.readFile(file)
  host.getSourceFile = (file, language) => {
    if (texts.has(file))
      return ts.createSourceFile(file, `${texts.get(file)?.code ?? ''}\nexport {}\n`, language)
    if (!parsed.has(file)) parsed.set(file, onDisk.getSourceFile(file, language))
    return parsed.get(file)
  }
  const program = ts.createProgram([...texts.keys()], options, host)
  // Of the snippets alone: the source is checked by the type check, and would take most of the time here.
  const ofSnippets = [...texts.keys()].flatMap((name) => {
    const file = program.getSourceFile(name)
    return [...program.getSyntacticDiagnostics(file), ...program.getSemanticDiagnostics(file)]
  })
  return [...program.getOptionsDiagnostics(), ...program.getGlobalDiagnostics(), ...ofSnippets].map(
    (diagnostic) => describe(diagnostic, texts),
  )
}

/** The same files for every program that is made here. */
const parsed = new Map<string, ts.SourceFile | undefined>()

function describe(diagnostic: ts.Diagnostic, texts: ReadonlyMap<string, Snippet>): string {
  const message = ts.flattenDiagnosticMessageText(diagnostic.messageText, ' ')
  if (diagnostic.file === undefined) return message
  const { line } = diagnostic.file.getLineAndCharacterOfPosition(diagnostic.start ?? 0)
  return `${texts.get(diagnostic.file.fileName)?.page ?? ''}:${line + 1} ${message}`
}

function snippetFile({ page, line }: Snippet, folder: string): string {
  const name = page.replace(/\.md$/, '').replace(/[^A-Za-z0-9]+/g, '-')
  return path.posix.join(ROOT, folder, `generated/${name}-${line}.ts`)
}

function readCompilerOptions(): ts.CompilerOptions {
  const file = path.join(ROOT, 'tsconfig.json')
  const { config } = ts.readConfigFile(file, (name) => ts.sys.readFile(name)) as { config: object }
  const { options } = ts.parseJsonConfigFileContent(
    { ...config, include: [], files: [] },
    ts.sys,
    ROOT,
  )
  return {
    ...options,
    noEmit: true,
    paths: listEntryPaths('.'),
    // House rules that a reader's project need not have: `process.env.SECRET` is how they write it.
    noPropertyAccessFromIndexSignature: false,
    erasableSyntaxOnly: false,
    // Entities of TypeORM have them.
    experimentalDecorators: true,
  }
}

interface Manifest {
  readonly exports: Readonly<Record<string, { readonly default?: string; readonly types?: string }>>
}

/** `hookonce` and each of its entries, with the source file it is built from. */
export function listEntryPaths(base: string): Record<string, string[]> {
  const manifest = JSON.parse(ts.sys.readFile(path.join(ROOT, 'package.json')) ?? '') as Manifest
  return Object.fromEntries(
    Object.entries(manifest.exports).flatMap(([entry, target]) => {
      const built = target.default ?? target.types
      if (built === undefined) return []
      const source = built.replace(/^\.\/dist\//, `${base}/src/`).replace(/(\.js|\.d\.ts)$/, '.ts')
      return [[path.posix.join('hookonce', entry), [source]]]
    }),
  )
}
