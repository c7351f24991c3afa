import { expect, test } from 'vitest'
import { parsePayload } from '../../src/model/parse-payload.ts'

const FORM = { 'content-type': 'application/x-www-form-urlencoded' }

test.each([
  ['a letter that is not escaped, beside one that is', 'city=東京%2C+Japan', '東京, Japan'],
  ['a letter and a % that are not escaped', 'city=東京+100%+you%21', '東京 100% you!'],
  ['letters that are all escaped', 'city=%E6%9D%B1%E4%BA%AC', '東京'],
])('a form with %s is read as it was meant', (_what, text, city) => {
  expect({ ...(parsePayload({ text }, FORM) as object) }).toEqual({ city })
})
