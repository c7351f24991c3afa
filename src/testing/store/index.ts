/** The suite for authors of stores. */

export { storeConformance } from './conformance.ts'
export type {
  ConformanceCase,
  ConformanceDatabase,
  StoreConformanceOptions,
} from './conformance.ts'
export type { OwnTransaction } from './store-case.ts'
