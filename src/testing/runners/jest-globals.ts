/**
 * `hookonce/testing/jest-globals`: the types of `hookonceMatchers` for `import { expect } from '@jest/globals'`. Types
 * only: nothing here runs. An entry of its own, since those who have `@types/jest` alone have no such module.
 *
 *     import type {} from 'hookonce/testing/jest-globals'
 *
 * @module
 */

import type { HookonceMatchers } from '../kit/matchers.ts'

// jest's `expect` has the matchers of this package, and says that others are added here.
// @ts-expect-error -- jest is not installed at the root, and `test/runners` compiles what is made of this with it
declare module 'expect' {
  // eslint-disable-next-line @typescript-eslint/no-empty-object-type, @typescript-eslint/no-unused-vars -- it must be declared as jest declares it
  interface Matchers<R extends void | Promise<void>, T = unknown> extends HookonceMatchers<R> {}
}

export type { HookonceMatchers }
