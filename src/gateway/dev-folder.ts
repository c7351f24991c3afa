/**
 * `.hookonce`: what `hookonce dev` keeps in the folder in which it is run. The database, the sources that it was given
 * there, the secret with which it signs what it forwards, and on Node 20 the SQLite binding.
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

/** What `hookonce dev --forward` signs with, below the folder of the user. */
export const FORWARD_SECRET_FILE = `${DEV_FOLDER}/forward.secret`

/**
 * Makes it where it is not there, and says where it is.
 *
 * @throws HookonceError CONFIG_INVALID where nothing can be written
 */
export function makeDevFolder(folder: string): string {
  const made = path.join(folder, DEV_FOLDER)
  const ignore = path.join(made, '.gitignore')
  try {
    mkdirSync(made, { recursive: true })
    if (!existsSync(ignore)) writeFileSync(ignore, '*\n')
  } catch (error) {
    throw new HookonceError(
      'CONFIG_INVALID',
      `${made} cannot be written to: ${codeOf(error)}. hookonce dev keeps its sources and its database there: run it in a folder that is yours`,
      { cause: error },
    )
  }
  return made
}

/** `EACCES`, where Node has one; else what it says. */
export function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : asError(error).message
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

/**
 * What `hookonce dev --forward` signs with in this folder: the same each time, so that the service that is being
 * written can have it in its environment.
 */
export function keepForwardSecret(folder: string, make: () => string): string {
  makeDevFolder(folder)
  const file = path.join(folder, FORWARD_SECRET_FILE)
  const kept = existsSync(file) ? readFileSync(file, 'utf8').trim() : ''
  if (kept !== '') return kept
  const made = make()
  writeFileSync(file, `${made}\n`, { mode: 0o600 })
  return made
}

function unreadable(origin: string, why: string): HookonceError {
  return new HookonceError(
    'CONFIG_INVALID',
    `${origin} cannot be read: ${why}. Mend it, or remove it: hookonce dev makes a new one`,
  )
}
