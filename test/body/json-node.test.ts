import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { JsonBody } from '../../src/body/json-body.ts'
import type { JsonNode } from '../../src/body/json-node.ts'

function nodeOf(text: string): JsonNode {
  const node = JsonBody.find(Buffer.from(text))?.findNode([])
  if (node === undefined) throw new Error(`No JSON: ${text}`)
  return node
}

/** The value once more, each of its parts parsed from the place where a node says that it stands. */
function parseThrough(node: JsonNode): unknown {
  if (Array.isArray(node.value)) return [...node.walkElements()].map(parseThrough)
  if (typeof node.value !== 'object' || node.value === null) return JSON.parse(node.source)
  const members = node.listMembers().map(([name, one]) => [name, parseThrough(one)] as const)
  return Object.fromEntries(members)
}

describe('a node of a JSON text', () => {
  test('stands where JSON.parse has read it, for any text', () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 5 }), fc.nat(3), (value, indent) => {
        const text = JSON.stringify(value, null, indent)

        expect(parseThrough(nodeOf(text))).toEqual(JSON.parse(text))
      }),
    )
  })

  test('is the last of two with one name, even if escaped', () => {
    const members = nodeOf('{"a":1,"b":[{}],"\\u0061":9007199254740993}').listMembers()

    expect(members.map(([name, { source }]) => [name, source])).toEqual([
      ['a', '9007199254740993'],
      ['b', '[{}]'],
    ])
  })

  test('has the text of what is short, and a number as it was written', () => {
    const texts = [...nodeOf('["a","",1.50,true,null,{},[]]').walkElements()].map((node) =>
      node.findText(),
    )

    expect(texts).toEqual(['a', undefined, '1.50', 'true', undefined, undefined, undefined])
  })

  test('has neither members nor elements where it is neither object nor list', () => {
    expect(nodeOf('"[1]"').listMembers()).toEqual([])
    expect([...nodeOf('{"0":1}').walkElements()]).toEqual([])
    expect(nodeOf('[{"a":1}]').listMembers()).toEqual([])
  })
})
