/**
 * Programs that some tests need and npm does not bring: `faketime` for processes with a wrong clock,
 * `nats-server` for an example of the documentation, and Prometheus' `promtool` for metrics and alerts.
 *
 * As root on Debian they are installed. Where one is missing the tests that need it are skipped, loudly;
 * under `CI=true` the run fails instead.
 *
 * @module
 */

import { execFileSync } from 'node:child_process'
import type { TestProject } from 'vitest/node'
import { provideOnce } from '../provide-once.ts'
import { findOrInstall } from './find-or-install.ts'

export interface Tools {
  /** What to preload into a process whose clock is to be wrong. */
  readonly faketime: string | null
  readonly natsServer: string | null
  readonly promtool: string | null
}

declare module 'vitest' {
  interface ProvidedContext {
    tools: Tools
  }
}

export function setup(project: TestProject): Promise<() => Promise<void>> {
  return provideOnce(project, 'tools', () => ({ value: findTools() }))
}

function findTools(): Tools {
  const faketime = findOrInstall('faketime')
  const tools: Tools = {
    faketime: faketime === undefined ? null : findPreload(faketime),
    natsServer: findOrInstall('nats-server') ?? null,
    promtool: findOrInstall('promtool', { package: 'prometheus' }) ?? null,
  }
  const missing = Object.entries(tools).flatMap(([name, found]) => (found === null ? [name] : []))
  if (missing.length > 0) {
    const message = `Missing on this machine: ${missing.join(', ')}`
    if (process.env['CI'] === 'true') throw new Error(`${message}.`)
    console.warn(`\n*** ${message}. The tests that need them are SKIPPED. ***\n`)
  }
  return tools
}

/**
 * The program only sets the environment of another one and waits for it. It is the library that is wanted: a
 * signal to the child must reach the child, and not a parent in between.
 */
function findPreload(faketime: string): string | null {
  try {
    const asked = execFileSync(faketime, ['-m', '-f', '+0s', 'printenv', 'LD_PRELOAD'])
    const preload = asked.toString().trim()
    const env = { ...process.env, LD_PRELOAD: preload, FAKETIME: '+86400s' }
    const shifted = execFileSync(process.execPath, ['-p', 'Date.now()'], { env })
    return Number(shifted.toString()) - Date.now() > 43_200_000 ? preload : null
  } catch {
    // Installed, and of no use to this Node.
    return null
  }
}
