import { readFileSync } from 'node:fs'

interface Manifest {
  readonly version: string
}

/** Of this package: the file is two folders up, in the source and in what is built of it. */
export const VERSION = (
  JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as Manifest
).version
