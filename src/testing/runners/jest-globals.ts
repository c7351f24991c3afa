/**
 * `hookonce/testing/jest-globals`: gives the `expect` of `@jest/globals` the matchers of `hookonceMatchers`, and their
 * types. An entry of its own, since with `@types/jest` alone there is no such module.
 *
 *     import 'hookonce/testing/jest-globals'
 *
 * @module
 */

// @ts-expect-error -- jest is not installed at the root
import { expect } from '@jest/globals'
import { hookonceMatchers } from '../kit/matchers.ts'
import type { HookonceMatchers } from '../kit/matchers.ts'
import { extendExpect } from './extend-expect.ts'

// jest's `expect` has the matchers of this package, and says that others are added here.
// @ts-expect-error -- jest is not installed at the root, and `test/runners` compiles what is made of this with it
declare module 'expect' {
  // eslint-disable-next-line @typescript-eslint/no-empty-object-type, @typescript-eslint/no-unused-vars -- it must be declared as jest declares it
  interface Matchers<R extends void | Promise<void>, T = unknown> extends HookonceMatchers<R> {}
}

extendExpect(expect, hookonceMatchers)

export type { HookonceMatchers }
