/** Run as a process of its own: records events until one is refused, and prints how. */

import { sqliteStore } from '../../../src/store/sqlite/index.ts'
import { anEventDraft } from '../../support/builders.ts'

const [file = '', driver] = process.argv.slice(2)
const store = sqliteStore(file, { driver: driver as 'libsql' | 'node:sqlite' })
let recorded = 0
try {
  await store.open()
  for (; recorded < 1_000; recorded += 1) {
    const draft = anEventDraft({ key: `evt_${recorded}`, body: 'x'.repeat(100_000) })
    await store.events.record([draft], { deadlineMs: 30_000 })
  }
} catch (error) {
  const { name, code, message, cause } = error as Error & { code?: string }
  const because = cause instanceof Error ? cause.message : undefined
  process.stdout.write(`${JSON.stringify({ recorded, name, code, message, because })}\n`)
}
process.exit(0)
