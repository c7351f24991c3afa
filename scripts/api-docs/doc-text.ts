/**
 * Documentation comments, as Markdown.
 *
 * @module
 */

import ts from 'typescript'

/** What a comment says, by its tags. */
export interface DocText {
  readonly text: string
  readonly params: readonly string[]
  readonly returns: readonly string[]
  readonly throws: readonly string[]
  readonly defaultValue: string | undefined
}

export function readDocText(checker: ts.TypeChecker, symbol: ts.Symbol): DocText {
  const tags = symbol.getJsDocTags(checker)
  const list = (name: string): readonly string[] => [
    ...new Set(tags.filter((tag) => tag.name === name).map(({ text }) => readParts(text))),
  ]
  return {
    text: readParts(symbol.getDocumentationComment(checker)),
    params: list('param').map((text) => text.replace(/^(\S+)\s+(- )?/, '`$1`: ')),
    returns: list('returns'),
    throws: list('throws'),
    defaultValue: list('defaultValue')[0]?.replace(/^[^`]*$/, '`$&`'),
  }
}

function readParts(parts: ts.SymbolDisplayPart[] | undefined): string {
  return toMarkdown(ts.displayPartsToString(parts).trim())
}

/** The comment at the head of an entry's file, without the entry's name, which is the heading of its page. */
export function readModuleText(specifier: string, source: string): string {
  const [, comment = ''] = /^\/\*\*([\s\S]*?)\*\//.exec(source) ?? []
  const lines = comment.split('\n').map((line) => line.replace(/^ *\* ?/, ''))
  const text = lines
    .join('\n')
    .replace(/@module\s*$/, '')
    .trim()
  const prefix = `\`${specifier}\`: `
  if (!text.startsWith(prefix)) return toMarkdown(text)
  return toMarkdown(text.slice(prefix.length).replace(/^[a-z]/, (first) => first.toUpperCase()))
}

/**
 * Outside of code, `<name>` would be taken for a tag and not be shown. An example gets the mark of what is not compiled:
 * it speaks of things that its reader has.
 */
function toMarkdown(text: string): string {
  return text.replaceAll(CODE_OR_TAG, (all: string) =>
    all === '<' ? '&lt;' : all.replace(/^```ts$/m, '```ts excerpt'),
  )
}

const CODE_OR_TAG = /^```[\s\S]*?^```$|`[^`]*`|^ {4}.*$|</gm
