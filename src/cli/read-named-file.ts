import { readFileSync } from 'node:fs'
import path from 'node:path'
import { OptionInvalidError } from '../errors.ts'

/**
 * The bytes of a file that a flag names.
 *
 * @throws OptionInvalidError for one that cannot be read
 */
export function readNamedFile(folder: string, flag: string, file: string): Buffer {
  try {
    return readFileSync(path.resolve(folder, file))
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : 'an error'
    throw new OptionInvalidError(flag, {
      message: `${flag}: the file ${file} cannot be read: ${code}`,
    })
  }
}
