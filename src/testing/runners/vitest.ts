/**
 * `hookonce/testing/vitest`: gives vitest's `expect` the matchers of `hookonceMatchers`, and their types. Once, in a file
 * of your setup or in the test itself:
 *
 *     import 'hookonce/testing/vitest'
 *
 * @module
 */

import { expect } from 'vitest'
import { hookonceMatchers } from '../kit/matchers.ts'
import type { HookonceMatchers } from '../kit/matchers.ts'
import type {} from 'vitest'

declare module 'vitest' {
  // eslint-disable-next-line @typescript-eslint/no-explicit-any, @typescript-eslint/no-empty-object-type, @typescript-eslint/no-unused-vars -- it must be declared as vitest declares it
  interface Matchers<T = any> extends HookonceMatchers {}
}

expect.extend(hookonceMatchers)

export type { HookonceMatchers }
