/**
 * Lists the functions that one delivery goes through, from the socket to the answer, as V8 counts them.
 *
 *     npx tsx scripts/list-hops.ts
 *
 * @module
 */

import { request } from 'node:http'
import inspector from 'node:inspector/promises'
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { createInbox } from '../src/index.ts'
import { createReceiver } from '../src/http/node.ts'
import { stripe } from '../src/providers/index.ts'
import { sqliteStore } from '../src/store/sqlite/index.ts'
import { sign } from '../src/testing/index.ts'

const SRC = `${fileURLToPath(new URL('../src', import.meta.url))}${path.sep}`
const SECRET = 'whsec_c2VjcmV0IG9mIHRoZSBob3BzIG9mIGEgZGVsaXZlcnk'

interface Hop {
  readonly file: string
  readonly name: string
}

async function main(): Promise<void> {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'hookonce-hops-'))
  const inbox = createInbox({
    store: sqliteStore(path.join(folder, 'inbox.db')),
    sources: { stripe: stripe({ secrets: [SECRET] }) },
    worker: false,
  })
  const receiver = createReceiver(inbox)
  const { port } = await receiver.listen({ port: 0, host: '127.0.0.1' })
  const session = new inspector.Session()
  session.connect()
  try {
    // The first opens the store and makes what is made once.
    for (const id of ['evt_1', 'evt_2']) await deliver(port, id)
    await session.post('Profiler.enable')
    await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false })
    await session.post('Profiler.takePreciseCoverage')
    await deliver(port, 'evt_3')
    const { result } = await session.post('Profiler.takePreciseCoverage')
    print(result.flatMap(({ url, functions }) => listHops(url, functions)))
  } finally {
    session.disconnect()
    await receiver.drain()
    await inbox.stop()
    fs.rmSync(folder, { recursive: true, force: true })
  }
}

async function deliver(port: number, id: string): Promise<void> {
  const { body, headers } = sign('stripe', { type: 'invoice.paid', key: id }, { secret: SECRET })
  const status = await new Promise<number | undefined>((resolve, reject) => {
    const options = { port, host: '127.0.0.1', path: '/in/stripe', method: 'POST' }
    const outgoing = request(options, (response) => {
      response.resume().on('end', () => resolve(response.statusCode))
    })
    outgoing.setHeaders(new Map(Object.entries(headers)))
    outgoing.on('error', reject).end(body)
  })
  if (status !== 200) throw new Error(`A delivery was answered ${status}`)
}

function listHops(url: string, functions: readonly inspector.Profiler.FunctionCoverage[]): Hop[] {
  const file = url.startsWith('file:') ? fileURLToPath(url.replace(/\?.*$/, '')) : url
  if (!file.startsWith(SRC) || file.startsWith(`${SRC}testing`)) return []
  return (
    functions
      // Unnamed ones belong to the function around them, and `__name` is put in by the compiler.
      .filter(({ functionName, ranges }) => /^[^_<]/.test(functionName) && ranges[0]?.count !== 0)
      .map(({ functionName }) => ({ file: file.slice(SRC.length), name: functionName }))
  )
}

function print(hops: readonly Hop[]): void {
  const files = new Map<string, string[]>()
  for (const { file, name } of hops) files.set(file, [...(files.get(file) ?? []), name])
  for (const [file, names] of [...files].sort()) console.log(`${file}: ${names.join(', ')}`)
  const folders = new Set([...files.keys()].map((file) => path.dirname(file)))
  console.log(`${hops.length} functions in ${files.size} files of ${folders.size} folders`)
}

await main()
