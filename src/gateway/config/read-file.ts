/**
 * Finds and reads the config file.
 *
 * @module
 */

import { existsSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { createJiti } from 'jiti'
import { asError, HookonceError } from '../../errors.ts'
import { isPlainObject } from './layers.ts'

/** In the order in which they are looked for. */
export const CONFIG_FILES = [
  'hookonce.config.ts',
  'hookonce.config.mts',
  'hookonce.config.js',
  'hookonce.config.mjs',
  'hookonce.config.json',
] as const

/** A config file that was read. */
export interface ConfigFile {
  readonly path: string
  readonly value: Readonly<Record<string, unknown>>
}

/**
 * The file that is named, or the first of the known names that is there.
 *
 * @throws HookonceError CONFIG_INVALID when the named one is missing, two are there, or it cannot be read
 */
export async function readConfigFile(
  folder: string,
  named: string | undefined,
): Promise<ConfigFile | undefined> {
  const file = named === undefined ? findFile(folder) : path.resolve(folder, named)
  if (file === undefined) return undefined
  if (!existsSync(file)) throw invalid(`There is no config file ${named}`)
  const value = file.endsWith('.json') ? readJson(file) : await runFile(file)
  if (isPlainObject(value)) return { path: file, value }
  throw invalid(`${path.basename(file)} must export an object: export default defineConfig({ … })`)
}

function findFile(folder: string): string | undefined {
  const found = CONFIG_FILES.filter((name) => existsSync(path.join(folder, name)))
  if (found.length > 1)
    throw invalid(`There are ${found.join(' and ')}. Remove all but one, or name one with --config`)
  return found[0] === undefined ? undefined : path.join(folder, found[0])
}

function readJson(file: string): unknown {
  try {
    const { $schema: _editor, ...value } = JSON.parse(readFileSync(file, 'utf8')) as Record<
      string,
      unknown
    >
    return value
  } catch (error) {
    throw invalid(`${path.basename(file)} cannot be read: ${asError(error).message}`, error)
  }
}

async function runFile(file: string): Promise<unknown> {
  try {
    // No cache: a config that was changed is read again on SIGHUP.
    const jiti = createJiti(import.meta.url, { moduleCache: false, fsCache: false })
    return await jiti.import(file, { default: true })
  } catch (error) {
    throw invalid(`${path.basename(file)} cannot be run: ${asError(error).message}`, error)
  }
}

function invalid(message: string, cause?: unknown): HookonceError {
  return new HookonceError('CONFIG_INVALID', message, { cause })
}
