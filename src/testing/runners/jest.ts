/**
 * `hookonce/testing/jest`: the types of `hookonceMatchers` for the `expect` that `@types/jest` declares globally. Types
 * only: nothing here runs. For `import { expect } from '@jest/globals'` there is `hookonce/testing/jest-globals`.
 *
 *     import type {} from 'hookonce/testing/jest'
 *
 * @module
 */

import type { HookonceMatchers } from '../kit/matchers.ts'

declare global {
  // eslint-disable-next-line @typescript-eslint/no-namespace -- @types/jest declares one
  namespace jest {
    // eslint-disable-next-line @typescript-eslint/no-empty-object-type, @typescript-eslint/no-unused-vars -- it must be declared as jest declares it
    interface Matchers<R, T = {}> extends HookonceMatchers<R> {}
  }
}

export type { HookonceMatchers }
