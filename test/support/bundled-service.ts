/**
 * A service of a user's, to be put together by a bundler and run.
 *
 * @module
 */

import { execFile } from 'node:child_process'
import path from 'node:path'
import { promisify } from 'node:util'

/** Takes one event in, twice, runs its handler, and says what was answered and how often the handler took effect. */
export const SERVICE = `
import { createInbox } from 'hookonce'
import { stripe } from 'hookonce/providers'
import { sqliteStore } from 'hookonce/sqlite'
import { sign } from 'hookonce/testing'

const secret = 'whsec_test_secret_of_some_length'

async function main() {
  const inbox = createInbox({
    store: sqliteStore(process.env.FILE, { driver: process.env.DRIVER }),
    sources: { stripe: stripe({ secrets: [secret] }) },
  })
  let effects
  inbox.on('stripe', 'invoice.paid', async (event, { tx }) => {
    await tx.query('create table if not exists paid (key text)')
    await tx.query('insert into paid values ($1)', [event.key])
  })
  inbox.on('stripe', 'checkout.session.completed', async (event, { tx }) => {
    effects = (await tx.query('select key from paid')).rows.length
  })
  const receive = async (key, type) => {
    const done = new Promise((resolve) => inbox.events.on('event.done', resolve))
    const delivery = sign('stripe', { key, type }, { secret })
    const first = await inbox.receive('stripe', delivery)
    const event = await done
    const second = await inbox.receive('stripe', delivery)
    return first.status + ' ' + second.status + ' ' + event.key + ' done'
  }
  await inbox.start()
  const said = await receive('evt_1', 'invoice.paid')
  await receive('evt_2', 'checkout.session.completed')
  await inbox.stop()
  console.log(said + ', effects: ' + effects)
}

main().catch((error) => {
  console.error(error)
  // What was started would keep the process.
  process.exit(1)
})
`

export const SERVICE_SAYS = '200 200 evt_1 done, effects: 1\n'

/** What the bundled service prints. Each driver has a database of its own. */
export async function runService(
  node: string,
  { folder, file, driver }: { folder: string; file: string; driver: string },
): Promise<string> {
  const database = path.join(folder, `${driver.replace(':', '-')}.db`)
  const { stdout } = await promisify(execFile)(node, [file], {
    cwd: folder,
    env: { ...process.env, FILE: database, DRIVER: driver, NODE_NO_WARNINGS: '1' },
    timeout: 110_000,
  })
  return stdout
}
