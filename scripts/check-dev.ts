/**
 * Runs `npx hookonce dev` of an installed package in an empty folder, as a newcomer does: first without any SQLite,
 * then with one where `--yes` puts it. A part of `npm run check:package`.
 *
 * @module
 */

import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import fs from 'node:fs'
import path from 'node:path'

const COMMAND = ['--no-install', 'hookonce', 'dev', '--port', '0', '--demo']
const EXPECTED = ['10 deliveries, 1 event, handler ran 1 time', '/in/demo', 'Stop with Ctrl-C.']

/** It waits for what is printed, not for this: a command that says nothing must not keep the check for ever. */
const PATIENCE_MS = 60_000

/** What is wrong with it in this project, in which no SQLite is installed; nothing when all is well. */
export async function checkDev(
  project: string,
  putSqlite: (modules: string) => void,
): Promise<readonly string[]> {
  const folder = path.join(project, 'empty')
  fs.mkdirSync(folder)
  const refused = checkRefusal(folder)
  putSqlite(path.join(folder, '.hookonce', 'node_modules'))
  return [...refused, ...(await checkBanner(folder))]
}

/** Without a terminal to ask on, nothing is installed, and what would help is said. */
function checkRefusal(folder: string): readonly string[] {
  const hasOwnSqlite = spawnSync(process.execPath, ['-e', "require('node:sqlite')"]).status === 0
  if (hasOwnSqlite) return []
  const { status, stderr } = spawnSync('npx', COMMAND, { cwd: folder, encoding: 'utf8' })
  if (status === 1 && stderr.includes('`hookonce dev --yes` installs libsql')) return []
  return [`npx hookonce dev without SQLite ended with ${status} and says:\n${stderr}`]
}

async function checkBanner(folder: string): Promise<readonly string[]> {
  // In a group of its own, which is ended as a whole: npx runs the command below a shell.
  const child = spawn('npx', COMMAND, {
    cwd: folder,
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const closed = once(child, 'close')
  let output = ''
  const isShown = new Promise<boolean>((resolve) => {
    for (const stream of [child.stdout, child.stderr])
      stream.on('data', (chunk: Buffer) => {
        output += chunk.toString()
        if (EXPECTED.every((text) => output.includes(text))) resolve(true)
      })
    void closed.then(() => resolve(false))
  })
  const patience = setTimeout(() => end(child.pid), PATIENCE_MS)
  try {
    return (await isShown) ? [] : [`npx hookonce dev in an empty folder says:\n${output}`]
  } finally {
    clearTimeout(patience)
    end(child.pid)
    await closed
  }
}

function end(pid: number | undefined): void {
  if (pid === undefined) return
  try {
    process.kill(-pid, 'SIGKILL')
  } catch {
    // It has ended.
  }
}
