import fs from 'node:fs'
import path from 'node:path'
import ts from 'typescript'
import { expect, test } from 'vitest'
import { listTableRows, readPage, ROOT } from './markdown.ts'

test.each([
  ['src/model/event.ts', 'WebhookEvent'],
  ['src/work/handler-context.ts', 'HandlerContext'],
])('the page of handlers has every member that %s gives a handler in %s', (file, name) => {
  const rows = listTableRows(readPage('docs/guides/handlers.md'), ['member', 'it is'])
  const told = rows.flatMap(([member = '']) => member.match(/\w+(?=[,(]|$)/g) ?? [])
  const members = listMembers(file, name)

  expect(members.length).toBeGreaterThan(8)
  expect(members.filter((member) => !told.includes(member))).toEqual([])
})

function listMembers(file: string, name: string): readonly string[] {
  const text = fs.readFileSync(path.join(ROOT, file), 'utf8')
  const source = ts.createSourceFile(file, text, ts.ScriptTarget.Latest, true)
  const found = source.statements
    .filter((statement) => ts.isInterfaceDeclaration(statement))
    .find((declaration) => declaration.name.text === name)
  return found?.members.map((member) => member.name?.getText() ?? '') ?? []
}
