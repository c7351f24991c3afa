import path from 'node:path'
import { HookonceError } from '../errors.ts'
import { openDriver } from '../store/sqlite/open-driver.ts'
import { DEV_FOLDER } from './dev-folder.ts'

/** Why there is no SQLite for what runs in this folder; `undefined` when there is. */
export async function findSqliteProblem(folder: string): Promise<HookonceError | undefined> {
  try {
    await openDriver('auto', path.join(folder, DEV_FOLDER))
    return undefined
  } catch (error) {
    if (error instanceof HookonceError && error.code === 'DRIVER_MISSING') return error
    throw error
  }
}
