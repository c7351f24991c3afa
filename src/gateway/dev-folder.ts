/**
 * `.hookonce`: what `hookonce dev` keeps in the folder in which it is run. The database, the sources that it was given
 * there, and on Node 20 the SQLite binding.
 *
 * Nothing in it is for a repository: it has a `.gitignore` of its own, which names everything.
 *
 * @module
 */

import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { asError, HookonceError } from '../errors.ts'
import { isPlainObject } from './config/layers.ts'
import type { ConfigLayer } from './config/layers.ts'

/** Its name, below the folder of the user. */
export const DEV_FOLDER = '.hookonce'

const SOURCES_FILE = 'dev.json'

/** Makes it where it is not there, and says where it is. */
export function makeDevFolder(folder: string): string {
  const made = path.join(folder, DEV_FOLDER)
  mkdirSync(made, { recursive: true })
  const ignore = path.join(made, '.gitignore')
  if (!existsSync(ignore)) writeFileSync(ignore, '*\n')
  return made
}

/**
 * The sources that `hookonce dev` was given in this folder, as a layer of the config; `undefined` when it was given
 * none.
 *
 * @throws HookonceError CONFIG_INVALID when the file is there and cannot be read
 */
export function readDevLayer(folder: string): ConfigLayer | undefined {
  const file = path.join(folder, DEV_FOLDER, SOURCES_FILE)
  if (!existsSync(file)) return undefined
  const origin = `${DEV_FOLDER}/${SOURCES_FILE}`
  try {
    const value: unknown = JSON.parse(readFileSync(file, 'utf8'))
    if (isPlainObject(value)) return { origin, value }
  } catch (error) {
    throw unreadable(origin, asError(error).message)
  }
  throw unreadable(origin, 'it is no object')
}

/** Adds a source to them. Only its owner can read the file: secrets are in it. */
export function addDevSource(folder: string, name: string, source: object): void {
  const file = path.join(makeDevFolder(folder), SOURCES_FILE)
  const value = withDevSource(readDevLayer(folder), name, source)
  // In one move: a process that is killed meanwhile leaves the file before or the file after.
  writeFileSync(`${file}.new`, `${JSON.stringify(value, undefined, 2)}\n`, { mode: 0o600 })
  renameSync(`${file}.new`, file)
}

/** What the layer says with one more source. */
export function withDevSource(
  layer: ConfigLayer | undefined,
  name: string,
  source: object,
): ConfigLayer['value'] {
  const { sources } = (layer?.value ?? {}) as { readonly sources?: object }
  return { ...layer?.value, sources: { ...sources, [name]: source } }
}

function unreadable(origin: string, why: string): HookonceError {
  return new HookonceError(
    'CONFIG_INVALID',
    `${origin} cannot be read: ${why}. Mend it, or remove it: hookonce dev makes a new one`,
  )
}
