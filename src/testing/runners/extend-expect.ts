import type { hookonceMatchers } from '../kit/matchers.ts'

/** `expect` as far as jest's is used: its types are not here. */
interface Extensible {
  extend(matchers: typeof hookonceMatchers): void
}

/** @throws TypeError where jest has not put its `expect`, such as outside of jest, or with `injectGlobals: false` */
export function extendExpect(expect: unknown, matchers: typeof hookonceMatchers): void {
  if (!isExtensible(expect))
    throw new TypeError(
      'There is no global expect to give the matchers of hookonce to. Import hookonce/testing/jest-globals in a test ' +
        'that has its expect from @jest/globals, and hookonce/testing/vitest in one of vitest',
    )
  expect.extend(matchers)
}

function isExtensible(expect: unknown): expect is Extensible {
  return typeof expect === 'function' && 'extend' in expect
}
