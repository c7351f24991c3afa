/**
 * What every workload works with: one PostgreSQL for all, a folder for files, a way to speak.
 *
 * @module
 */

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { dropDatabaseOn, startPostgres } from '../../test/support/postgres/start-postgres.ts'
import type {
  ConnectionConfig,
  PostgresServer,
} from '../../test/support/postgres/start-postgres.ts'
import { PostgresMeter } from './postgres-meter.ts'

export interface BenchOptions {
  readonly quick: boolean
  readonly rounds: number
  /** How long a service is loaded in W3 and W6, if not as long as they say. */
  readonly seconds?: number | undefined
  /** What the names of the contestants that run have in them. */
  readonly only: string
}

export class BenchContext {
  readonly options: BenchOptions
  readonly admin: pg.Pool
  readonly meter: PostgresMeter
  readonly #server: PostgresServer
  readonly #folder: string
  #files = 0

  private constructor(server: PostgresServer, options: BenchOptions) {
    this.#server = server
    this.options = options
    this.admin = new pg.Pool({ ...server.config, max: 2, application_name: 'bench' })
    this.meter = new PostgresMeter(this.admin)
    this.#folder = mkdtempSync(join(tmpdir(), 'hookonce-bench-'))
  }

  /** Starts a server with the durability PostgreSQL has by default. */
  static async start(options: BenchOptions): Promise<BenchContext> {
    return new BenchContext(await startPostgres(), options)
  }

  say = (line: string): void => console.log(line)

  /** Gives a new database for as long as `use` runs. */
  async withDatabase<T>(use: (config: ConnectionConfig, pool: pg.Pool) => Promise<T>): Promise<T> {
    const config = await this.#server.createDatabase()
    const pool = new pg.Pool({ ...config, max: 2, application_name: 'bench' })
    // Dropping the database ends what is still connected to it.
    pool.on('error', () => {})
    try {
      return await use(config, pool)
    } finally {
      await pool.end()
      await dropDatabaseOn(this.#server.config, config.database)
    }
  }

  /** Lets no subject pay for what was written before: fresh statistics, and no checkpoint due soon. */
  async settle(pool: pg.Pool): Promise<void> {
    await pool.query('vacuum analyze')
    await pool.query('checkpoint')
  }

  /** The path of a file that does not exist yet and is gone at the end. */
  createFile(name: string): string {
    this.#files += 1
    return join(this.#folder, `${this.#files}-${name}`)
  }

  async close(): Promise<void> {
    await this.admin.end()
    await this.#server.dispose()
    rmSync(this.#folder, { recursive: true, force: true })
  }
}
