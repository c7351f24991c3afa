/**
 * Pictures of the command in a terminal, for the documentation: the built command, in tmux, on a demo inbox.
 *
 *     npm run screenshots
 *     npm run screenshots -- --columns 60 --more --out /tmp/narrow
 *
 * Ids, ports, times and folders are replaced by ones that stay, so that a picture changes when the command does and not
 * with every run. `--more` adds what no page shows and a person should look at: hostile text, help, empty lists. Needs
 * tmux.
 *
 * @module
 */

import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { drawScreen } from './screenshots/draw-screen.ts'
import { fillDemo } from './screenshots/fill-demo.ts'
import { settleText } from './screenshots/settle-text.ts'
import { Terminal } from './screenshots/terminal.ts'

const ROOT = fileURLToPath(new URL('..', import.meta.url))
const MAIN = path.join(ROOT, 'dist/cli/main.js')

const { values } = parseArgs({
  options: {
    columns: { type: 'string', default: '100' },
    more: { type: 'boolean', default: false },
    out: { type: 'string', default: path.join(ROOT, 'docs/images') },
  },
})
const columns = Number(values.columns)
mkdirSync(values.out, { recursive: true })
const folder = mkdtempSync(path.join(os.tmpdir(), 'hookonce-shots-'))
// `npx hookonce` would look for the package in a folder that has none.
const bin = path.join(folder, 'bin')
mkdirSync(bin)
writeFileSync(
  path.join(bin, 'hookonce'),
  `#!/bin/sh\nexec "${process.execPath}" "${MAIN}" "$@"\n`,
  {
    mode: 0o755,
  },
)
writeFileSync(path.join(bin, 'npx'), '#!/bin/sh\nexec "$@"\n', { mode: 0o755 })
try {
  await takeAll()
} finally {
  rmSync(folder, { recursive: true, force: true })
}

async function takeAll(): Promise<void> {
  const shop = path.join(folder, 'shop')
  mkdirSync(shop)
  const { dead, hostile } = await fillDemo(shop)
  const inShop = (line: string) => takeOne(shop, line)
  save('events-list', await inShop('npx hookonce events list'))
  save('event-show', await inShop(`npx hookonce events show ${dead}`), dead)
  save('doctor', await inShop('npx hookonce doctor'))
  if (values.more) {
    save('groups', await inShop('npx hookonce groups'))
    save('stats', await inShop('npx hookonce stats'))
    save('hostile', await inShop(`npx hookonce events show ${hostile}`))
    save('help', await inShop('npx hookonce bulk retry --help'))
    save('nothing', await inShop('npx hookonce events list state:waiting; npx hookonce pauses'))
  }
  const hooks = path.join(folder, 'hooks')
  mkdirSync(hooks)
  await takeDev(hooks)
}

/** One command, and what it left on the screen. */
async function takeOne(cwd: string, line: string): Promise<string> {
  await using terminal = await Terminal.open({ columns, rows: 60, folder: cwd, bin })
  await terminal.run(line)
  return terminal.capture()
}

/** `hookonce dev`, and a sender beside it. */
async function takeDev(cwd: string): Promise<void> {
  await using dev = await Terminal.open({ columns, rows: 40, folder: cwd, bin })
  dev.type('npx hookonce dev\n')
  await dev.untilShown('Press h for the keys')
  dev.type('t')
  await dev.untilShown('handler ran 1 time')
  await takeOne(cwd, 'npx hookonce trigger demo order.paid --bad-signature')
  await dev.untilShown('refused')
  save('dev', dev.capture())
  save('trigger', await takeOne(cwd, 'npx hookonce trigger demo order.paid --times 10 --parallel'))
  dev.type('q')
}

function save(name: string, screen: string, ...ids: readonly string[]): void {
  const file = path.join(values.out, `${name}.svg`)
  const settled = settleText(screen, { folder, ids })
  writeFileSync(file, drawScreen(settled, { title: titleOf(settled), columns }))
  console.log(path.relative(ROOT, file))
}

/** What was typed, for readers who cannot see the picture. */
function titleOf(screen: string): string {
  return /npx hookonce[^\u001b\n]*/.exec(screen)?.[0] ?? 'hookonce'
}
