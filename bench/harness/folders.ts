import { join, resolve } from 'node:path'

/** This file runs compiled, from `bench/node_modules/.compiled/bench/harness`. */
export const COMPILED_DIR = resolve(import.meta.dirname, '..', '..')
export const BENCH_DIR = resolve(COMPILED_DIR, '..', '..')
export const RESULTS_DIR = join(BENCH_DIR, 'results')
