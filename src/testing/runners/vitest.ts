/**
 * `hookonce/testing/vitest`: the types of `hookonceMatchers` for vitest. Types only: nothing here runs.
 *
 *     import type {} from 'hookonce/testing/vitest'
 *
 * @module
 */

import type { HookonceMatchers } from '../kit/matchers.ts'
import type {} from 'vitest'

declare module 'vitest' {
  // eslint-disable-next-line @typescript-eslint/no-explicit-any, @typescript-eslint/no-empty-object-type, @typescript-eslint/no-unused-vars -- it must be declared as vitest declares it
  interface Matchers<T = any> extends HookonceMatchers {}
}

export type { HookonceMatchers }
