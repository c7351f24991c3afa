import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { inject, onTestFinished } from 'vitest'
import { until } from './faults/until.ts'

/** A NATS server with JetStream and nothing in it, at a free port, for the length of the running test; its URL. */
export async function startNats(): Promise<string> {
  const { natsServer } = inject('tools')
  if (natsServer === null)
    throw new Error('There is no nats-server; the test should have been skipped')
  const dir = mkdtempSync(join(tmpdir(), 'hookonce-nats-'))
  const where = ['--addr', '127.0.0.1', '--port', '-1', '--ports_file_dir', dir]
  const server = spawn(natsServer, [...where, '--jetstream', '--store_dir', join(dir, 'data')], {
    stdio: 'ignore',
  })
  onTestFinished(async () => {
    const ended = once(server, 'exit')
    server.kill('SIGKILL')
    await ended
    rmSync(dir, { recursive: true, force: true })
  })
  let url: string | undefined
  await until('the NATS server says where it listens', () => {
    const file = readdirSync(dir).find((name) => name.endsWith('.ports'))
    const text = file === undefined ? '' : readFileSync(join(dir, file), 'utf8')
    if (text !== '') url = (JSON.parse(text) as { nats: string[] }).nats[0]
    return url !== undefined
  })
  return url as string
}
