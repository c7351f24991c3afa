/** The kit's own: the same seed gives the same numbers there and here. */
export { Random } from '../../../src/testing/random.ts'
