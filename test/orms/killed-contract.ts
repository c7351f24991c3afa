import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import type { TxBinding } from '../../src/store/contract/tx-binding.ts'
import type { PostgresTx } from '../../src/store/postgres/index.ts'
import { openBoundTo } from '../bindings/bound-inbox.ts'
import type { ConnectionConfig } from '../support/postgres/start-postgres.ts'

export interface KilledSubject<Tx> {
  /** Of the file `<name>-subject.ts`, which the process that dies loads as well. */
  readonly name: string
  readonly prepare?: string
  createBinding(config: ConnectionConfig): TxBinding<PostgresTx, Tx>
  insert(tx: Tx, key: string, note: string): Promise<void>
}

/** A process that dies at COMMIT leaves one effect, whichever side of it: the next worker adds it, or finds it done. */
export function killedContract<Tx>(subject: KilledSubject<Tx>): void {
  describe(`${subject.name}: a process that is killed`, () => {
    test.each(['before', 'after'] as const)('%s COMMIT has one effect', async (point) => {
      const bound = await openBoundTo(async (config) => subject.createBinding(config))
      const { inbox, config, deliver, query, notes } = bound
      if (subject.prepare !== undefined) await query(subject.prepare)
      await deliver('evt_1')

      expect(await runUntilKilled(subject.name, point, JSON.stringify(config))).toBe('SIGKILL')
      expect(await notes()).toEqual(point === 'before' ? [] : ['paid'])

      const runs: string[] = []
      inbox.on('pings', '*', async ({ key }, { tx }) => {
        runs.push(key)
        await subject.insert(tx, key, 'paid')
      })
      const done = bound.untilAll('event.done', point === 'before' ? 2 : 1)
      await inbox.start()
      await deliver('evt_2')
      await done

      expect(runs.toSorted()).toEqual(point === 'before' ? ['evt_1', 'evt_2'] : ['evt_2'])
      expect(await notes()).toEqual(['paid', 'paid'])
    })
  })
}

/** The signal that it ended itself with, or what it said instead. */
function runUntilKilled(...args: readonly string[]): Promise<unknown> {
  const file = fileURLToPath(new URL('killed-program.ts', import.meta.url))
  const node = ['--import', 'tsx', file, ...args]
  return new Promise((resolve) => {
    execFile(process.execPath, node, { timeout: 60_000 }, (error, stdout, stderr) =>
      resolve(error?.signal === 'SIGKILL' ? error.signal : `${stdout}${stderr}`),
    )
  })
}
