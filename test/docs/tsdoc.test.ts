import { describe, expect, test } from 'vitest'
import { listPublicNames } from './public-exports.ts'
import type { PublicName } from './public-exports.ts'

const names = listPublicNames()

describe('a reader who hovers over', () => {
  test('an export reads what it is', () => {
    expect(listSilent('export')).toEqual([])
  })

  test('an option reads what it does', () => {
    expect(listSilent('option')).toEqual([])
  })

  test('a method reads what it does', () => {
    expect(listSilent('method')).toEqual([])
  })

  test('an option that may be left out reads what happens then', () => {
    const silent = names.filter(
      (one) => one.kind === 'option' && one.isOptional && !saysWhatHappensWithout(one),
    )

    expect(silent.map(place)).toEqual([])
  })
})

test('the exports are found', () => {
  const found = names.map(({ name }) => name)

  expect(found).toEqual(expect.arrayContaining(['createInbox', 'stripe', 'WorkerOptions.pollMs']))
  expect(found).toEqual(expect.arrayContaining(['Inbox.receive', 'createGuard', 'checkProvider']))
})

function listSilent(kind: PublicName['kind']): readonly string[] {
  return names.filter((one) => one.kind === kind && one.text === '').map(place)
}

function saysWhatHappensWithout({ text, tags }: PublicName): boolean {
  return tags.includes('defaultValue') || /\b(left out|without (it|them))\b/i.test(text)
}

function place({ name, file }: PublicName): string {
  return `${file}: ${name}`
}
