/**
 * `hookonce/testing/jest`: gives the `expect` that jest declares globally the matchers of `hookonceMatchers`, and those of
 * `@types/jest` their types. For `import { expect } from '@jest/globals'` there is `hookonce/testing/jest-globals`.
 *
 *     import 'hookonce/testing/jest'
 *
 * @module
 */

import { hookonceMatchers } from '../kit/matchers.ts'
import type { HookonceMatchers } from '../kit/matchers.ts'
import { extendExpect } from './extend-expect.ts'

declare global {
  // eslint-disable-next-line @typescript-eslint/no-namespace -- @types/jest declares one
  namespace jest {
    // eslint-disable-next-line @typescript-eslint/no-empty-object-type, @typescript-eslint/no-unused-vars -- it must be declared as jest declares it
    interface Matchers<R, T = {}> extends HookonceMatchers<R> {}
  }
}

extendExpect((globalThis as { readonly expect?: unknown }).expect, hookonceMatchers)

export type { HookonceMatchers }
