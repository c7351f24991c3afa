import fs from 'node:fs'
import path from 'node:path'
import ts from 'typescript'
import { describe, expect, test } from 'vitest'
import { createInbox } from '../../src/inbox/inbox.ts'
import { stripe } from '../../src/providers/vendors/stripe.ts'
import { sqliteStore } from '../../src/store/sqlite/index.ts'
import { SECRET } from '../support/inbox-under-test.ts'
import { listHeadings, readPage, ROOT } from './markdown.ts'

const headings = listHeadings(readPage('docs/reference/admin.md'))
const documented = headings.filter((heading) => heading.includes('('))

describe('the page about inbox.admin', () => {
  test('has every method, with what it is given, in the order of the type', () => {
    expect(documented).toEqual(listMethods().map((method) => `\`${method}\``))
  })

  test('has every method that an inbox has', () => {
    // Nothing is opened before it is needed, so the file is never made.
    const { admin } = createInbox({
      store: sqliteStore('never-opened.db'),
      sources: { stripe: stripe({ secrets: [SECRET] }) },
    })

    const names = new Set(documented.map((heading) => /\w+/.exec(heading)?.[0]))
    expect([...names].toSorted()).toEqual(Object.keys(admin).toSorted())
  })
})

/** Such as `listDead(limit?)`, from the interfaces. */
function listMethods(): readonly string[] {
  return [
    ...listMethodsOf('src/admin/event-finder.ts', 'EventFinder'),
    ...listMethodsOf('src/admin/bulk-operator.ts', 'BulkOperator').map(
      (method) => `bulk.${method}`,
    ),
    ...listMethodsOf('src/admin/operator.ts', 'Operator'),
    ...listMethodsOf('src/admin/retention-operator.ts', 'RetentionOperator'),
  ]
}

function listMethodsOf(name: string, type: string): readonly string[] {
  const text = fs.readFileSync(path.join(ROOT, name), 'utf8')
  const file = ts.createSourceFile(name, text, ts.ScriptTarget.Latest, true)
  const operator = file.statements
    .filter(ts.isInterfaceDeclaration)
    .find((declaration) => declaration.name.text === type)
  const members = [...(operator?.members ?? [])].filter(ts.isMethodSignature)
  return members.map((member) => {
    const parameters = member.parameters.map(
      ({ name: parameter, questionToken }) =>
        `${parameter.getText(file)}${questionToken === undefined ? '' : '?'}`,
    )
    return `${member.name.getText(file)}(${parameters.join(', ')})`
  })
}
