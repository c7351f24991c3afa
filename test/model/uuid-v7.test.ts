import { describe, expect, test } from 'vitest'
import { createUuidV7Generator } from '../../src/model/uuid-v7.ts'

const SHAPE = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/

describe('event ids', () => {
  test('carry their time in the first 48 bits', () => {
    const id = createUuidV7Generator(() => 0x0123456789ab)()

    expect(id).toMatch(SHAPE)
    expect(id.slice(0, 13)).toBe('01234567-89ab')
  })

  test('sort in the order they were made, also when the clock stands still or goes back', () => {
    const times = [5_000, 5_000, 4_000, 5_001, 1]
    let call = 0
    const newId = createUuidV7Generator(() => times[call++ % times.length] ?? 0)

    const ids = Array.from({ length: 20_000 }, newId)

    expect(ids.every((id) => SHAPE.test(id))).toBe(true)
    expect(ids).toEqual([...ids].sort())
    expect(new Set(ids).size).toBe(ids.length)
  })

  test('of two generators are different', () => {
    const one = createUuidV7Generator(() => 1)
    const other = createUuidV7Generator(() => 1)

    expect(one().slice(19)).not.toBe(other().slice(19))
  })
})
