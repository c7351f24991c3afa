/**
 * Finds and reads the config file.
 *
 * @module
 */

import { existsSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import path from 'node:path'
import { createJiti } from 'jiti'
import { asError, HookonceError } from '../../errors.ts'
import { findOwnEntries } from '../own-entries.ts'
import { isPlainObject } from './layers.ts'

/** In the order in which they are looked for. */
const CONFIG_FILES = [
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
  if (!isPlainObject(value)) throw invalid(notAnObject(file))
  const { $schema: _editor, ...settings } = value
  return { path: file, value: settings }
}

function findFile(folder: string): string | undefined {
  const found = CONFIG_FILES.filter((name) => existsSync(path.join(folder, name)))
  if (found.length > 1)
    throw invalid(`There are ${found.join(' and ')}. Remove all but one, or name one with --config`)
  return found[0] === undefined ? undefined : path.join(folder, found[0])
}

function notAnObject(file: string): string {
  return file.endsWith('.json')
    ? `${path.basename(file)} must be an object: { "sources": { … } }`
    : `${path.basename(file)} must export an object: export default defineConfig({ … })`
}

function readJson(file: string): unknown {
  try {
    return JSON.parse(readFileSync(file, 'utf8')) as unknown
  } catch (error) {
    throw invalid(`${path.basename(file)} cannot be read: ${asError(error).message}`, error)
  }
}

/** What a file of code exports by default, or with `module.exports`. */
export async function runFile(file: string): Promise<unknown> {
  const module = await importFile(file)
  if ('default' in module) return module['default']
  if (/^\s*export\b/m.test(readFileSync(file, 'utf8')))
    throw invalid(`${path.basename(file)} has no default export: begin it with export default`)
  return module
}

async function importFile(file: string): Promise<Readonly<Record<string, unknown>>> {
  try {
    const jiti = createJiti(import.meta.url, {
      // A config that was changed is read again on SIGHUP.
      moduleCache: false,
      fsCache: false,
      alias: isInstalledFor(file) ? {} : { ...findOwnEntries() },
    })
    // Not imported: of JavaScript, Node would keep what it has read first, and a reload would change nothing.
    const module: unknown = await jiti.evalModule(readFileSync(file, 'utf8'), {
      filename: file,
      async: true,
      forceTranspile: true,
    })
    return module as Readonly<Record<string, unknown>>
  } catch (error) {
    throw invalid(`${path.basename(file)} cannot be run: ${asError(error).message}`, error)
  }
}

/** Whether this package is in the `node_modules` of a file. */
function isInstalledFor(file: string): boolean {
  try {
    createRequire(file).resolve('hookonce/config')
    return true
  } catch {
    return false
  }
}

function invalid(message: string, cause?: unknown): HookonceError {
  return new HookonceError('CONFIG_INVALID', message, { cause })
}
