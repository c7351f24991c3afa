/** Puts the package here as npm would: what is tested is what is packed, found by its name. */

import { execFileSync } from 'node:child_process'
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'

const ROOT = path.join(import.meta.dirname, '../..')
const INSTALLED = path.join(import.meta.dirname, 'node_modules/hookonce')

const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'hookonce-runners-'))
try {
  const pack = ['pack', '--ignore-scripts', '--silent', '--pack-destination', folder]
  execFileSync('npm', pack, { cwd: ROOT, stdio: 'ignore' })
  const [tarball = ''] = fs.readdirSync(folder)
  fs.rmSync(INSTALLED, { recursive: true, force: true })
  fs.mkdirSync(INSTALLED, { recursive: true })
  execFileSync('tar', [
    '-xzf',
    path.join(folder, tarball),
    '--strip-components',
    '1',
    '-C',
    INSTALLED,
  ])
} finally {
  fs.rmSync(folder, { recursive: true, force: true })
}
