/**
 * Lists the functions that one delivery goes through, from the socket to the answer, as V8 counts them; with `--work`
 * those of its event, from the claim to the next look for work: claimed, run, settled, committed.
 *
 *     npx tsx scripts/list-hops.ts
 *     npx tsx scripts/list-hops.ts --work --store postgres
 *
 * The last line says how often a reader who takes the functions in the order of their first calls comes to another file,
 * and to another folder.
 *
 * @module
 */

import { request } from 'node:http'
import inspector from 'node:inspector/promises'
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import pg from 'pg'
import { createInbox } from '../src/index.ts'
import { createReceiver } from '../src/http/node.ts'
import { stripe } from '../src/providers/index.ts'
import type { Store } from '../src/store/contract/store.ts'
import { postgresStore } from '../src/store/postgres/index.ts'
import { sqliteStore } from '../src/store/sqlite/index.ts'
import { sign } from '../src/testing/index.ts'
import { startPostgres } from '../test/support/postgres/start-postgres.ts'
import type { QueryTx } from '../test/support/store-under-test.ts'

const SRC = `${fileURLToPath(new URL('../src', import.meta.url))}${path.sep}`
const SECRET = 'whsec_c2VjcmV0IG9mIHRoZSBob3BzIG9mIGEgZGVsaXZlcnk'

interface Hop {
  readonly file: string
  readonly name: string
  /** Where the function is in what V8 runs. */
  readonly scriptId: string
  readonly range: inspector.Profiler.CoverageRange
}

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      store: { type: 'string', default: 'sqlite' },
      work: { type: 'boolean', default: false },
    },
  })
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'hookonce-hops-'))
  const server = values.store === 'postgres' ? await startPostgres() : undefined
  const pool = server && new pg.Pool(server.config)
  // Each handler says that it runs, and ends when it may.
  const runs = new Map<string, () => void>()
  let hasBegun = (): void => undefined
  const store: Store<QueryTx> = pool
    ? postgresStore({ pool })
    : sqliteStore(path.join(folder, 'inbox.db'))
  const inbox = createInbox({
    store,
    sources: { stripe: stripe({ secrets: [SECRET] }) },
    worker: values.work && { concurrency: 1 },
  })
  inbox.on('stripe', '*', async ({ key }, { tx }) => {
    await new Promise<void>((resolve) => {
      runs.set(key, resolve)
      hasBegun()
    })
    await tx.query('select 1')
  })
  const untilRuns = async (key: string): Promise<void> => {
    while (!runs.has(key)) await new Promise<void>((resolve) => (hasBegun = resolve))
  }
  const receiver = createReceiver(inbox)
  const { port } = await receiver.listen({ port: 0, host: '127.0.0.1' })
  if (values.work) await inbox.start()
  try {
    // The first opens the store and makes what is made once.
    for (const key of ['evt_1', 'evt_2', 'evt_3']) {
      await deliver(port, signDelivery(key))
      if (!values.work) continue
      // The next is delivered while this one runs, so that all that is counted is the worker's.
      runs.get(previousOf(key))?.()
      await untilRuns(key)
    }
    const prepare = async (key: string): Promise<() => Promise<void>> => {
      // Signing uses functions of the library, and is the sender's.
      const delivery = signDelivery(key)
      if (!values.work) return () => deliver(port, delivery)
      await deliver(port, delivery)
      return async () => {
        runs.get(previousOf(key))?.()
        await untilRuns(key)
      }
    }
    const hops = await listCalled(await prepare('evt_4'))
    print(hops, await orderCalls(hops, await prepare('evt_5')))
    runs.get('evt_5')?.()
  } finally {
    await receiver.drain()
    await inbox.stop()
    await pool?.end()
    await server?.dispose()
    fs.rmSync(folder, { recursive: true, force: true })
  }
}

function previousOf(key: string): string {
  return `evt_${Number(key.slice(4)) - 1}`
}

/** The functions that are called while something is done. */
async function listCalled(action: () => Promise<void>): Promise<readonly Hop[]> {
  const session = new inspector.Session()
  session.connect()
  try {
    await session.post('Profiler.enable')
    await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false })
    await session.post('Profiler.takePreciseCoverage')
    await action()
    const { result } = await session.post('Profiler.takePreciseCoverage')
    return result.flatMap((script) => listHops(script))
  } finally {
    session.disconnect()
  }
}

/** The functions in the order of their first calls while it is done again. */
async function orderCalls(
  hops: readonly Hop[],
  action: () => Promise<void>,
): Promise<readonly Hop[]> {
  const called = new Set<Hop>()
  const session = new inspector.Session()
  session.connect()
  // A breakpoint whose condition tells of the call and is never true: nothing stops.
  Object.assign(globalThis, { noteHop: (at: number) => void called.add(hops[at] as Hop) })
  try {
    await session.post('Debugger.enable')
    for (const [at, { scriptId, range }] of hops.entries()) {
      const { scriptSource } = await session.post('Debugger.getScriptSource', { scriptId })
      const locate = (offset: number): inspector.Debugger.Location => {
        const lines = scriptSource.slice(0, offset).split('\n')
        return { scriptId, lineNumber: lines.length - 1, columnNumber: lines.at(-1)?.length ?? 0 }
      }
      const [start, end] = [locate(range.startOffset), locate(range.endOffset)]
      const { locations } = await session.post('Debugger.getPossibleBreakpoints', {
        start,
        end,
        restrictToFunction: true,
      })
      const [location] = locations
      if (location === undefined) continue
      await session.post('Debugger.setBreakpoint', { location, condition: `noteHop(${at})` })
    }
    await action()
    return [...called]
  } finally {
    session.disconnect()
  }
}

function signDelivery(key: string): ReturnType<typeof sign> {
  return sign('stripe', { type: 'invoice.paid', key }, { secret: SECRET })
}

async function deliver(port: number, { body, headers }: ReturnType<typeof sign>): Promise<void> {
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

function listHops({ url, scriptId, functions }: inspector.Profiler.ScriptCoverage): Hop[] {
  const file = url.startsWith('file:') ? fileURLToPath(url.replace(/\?.*$/, '')) : url
  if (!file.startsWith(SRC) || file.startsWith(`${SRC}testing`)) return []
  return (
    functions
      // Unnamed ones belong to the function around them, and `__name` is put in by the compiler.
      .filter(({ functionName, ranges }) => /^[^_<]/.test(functionName) && ranges[0]?.count !== 0)
      .flatMap(({ functionName: name, ranges: [range] }) =>
        range === undefined ? [] : [{ file: file.slice(SRC.length), name, scriptId, range }],
      )
  )
}

function print(hops: readonly Hop[], ordered: readonly Hop[]): void {
  const files = new Map<string, string[]>()
  for (const { file, name } of hops) files.set(file, [...(files.get(file) ?? []), name])
  for (const [file, names] of [...files].sort()) console.log(`${file}: ${names.join(', ')}`)
  const folders = new Set([...files.keys()].map((file) => path.dirname(file)))
  console.log(`${hops.length} functions in ${files.size} files of ${folders.size} folders`)
  const toFiles = countChanges(ordered.map(({ file }) => file))
  const toFolders = countChanges(ordered.map(({ file }) => path.dirname(file)))
  console.log(
    `in the order of the first calls (${ordered.length} functions): ${toFiles} times to another file, ${toFolders} times to another folder`,
  )
}

function countChanges(places: readonly string[]): number {
  return places.filter((place, at) => at > 0 && place !== places[at - 1]).length
}

await main()
