/**
 * The common part of the child processes: a real inbox on a real store, whose statements pass a probe,
 * led by messages from the test.
 *
 * @module
 */

import pg from 'pg'
import { createInbox } from '../../../src/inbox/inbox.ts'
import type { Inbox } from '../../../src/inbox/inbox.ts'
import { httpDestination } from '../../../src/outbox/http-destination.ts'
import { CLIENTS } from '../egress/clients.ts'
import type { WebhookEvent } from '../../../src/model/event.ts'
import type { Store } from '../../../src/store/contract/store.ts'
import { postgresStore } from '../../../src/store/postgres/index.ts'
import { toSqlValue } from '../../../src/store/sqlite/driver.ts'
import { sqliteStore } from '../../../src/store/sqlite/index.ts'
import { openDriver } from '../../../src/store/sqlite/open-driver.ts'
import { createFaultSources } from './fault-sources.ts'
import { orderOf } from './lane-orders.ts'
import { createProbedClients } from './probed-client.ts'
import { probeLibsql } from './probed-libsql.ts'
import { createScriptedHandler } from './scripted-handler.ts'
import type { ScriptTx } from './scripted-handler.ts'
import { createScriptedSteps } from './scripted-steps.ts'
import type { FromSubject, StoreConfig, SubjectConfig, ToSubject } from './subject-messages.ts'
import { TrapProbe } from './trap-probe.ts'

export type FaultInbox = Inbox<ReturnType<typeof createFaultSources>, ScriptTx>

/** What a process does with its inbox. */
export interface SubjectRole {
  readonly worker: boolean
  /** Returns the port it listens on, if it does. */
  start(
    inbox: FaultInbox,
    config: SubjectConfig,
    store: Store<ScriptTx>,
  ): Promise<number | undefined>
  stop(inbox: FaultInbox, config: SubjectConfig): Promise<void>
}

export function runSubject(role: SubjectRole): void {
  const points = new Map<string, () => void>()
  const reach = (point: string) =>
    new Promise<void>((resolve) => {
      points.set(point, resolve)
      say({ said: 'reached', point })
    })
  const probe = new TrapProbe(reach)
  let inbox: FaultInbox | undefined

  process.on('message', (message: ToSubject) => {
    switch (message.do) {
      case 'start': {
        const store = createStore(message.config.store, probe)
        inbox = createSubjectInbox(message.config, { role, reach, store })
        stopOnSigterm(role, inbox, message.config)
        return answer(async () => ({
          said: 'started',
          port: await role.start(inbox as FaultInbox, message.config, store),
        }))
      }
      case 'arm':
        probe.arm(message.trap)
        return say({ said: 'armed' })
      case 'go-on':
        points.get(message.point)?.()
        return
      case 'forget':
        return answer(async () => {
          // What has not run is not forgotten.
          await inbox?.admin.discard(message.eventId, { reason: 'to be forgotten' })
          await inbox?.admin.forget(message.eventId)
          return { said: 'forgotten' }
        })
    }
  })
  // A test that ended without us must not leave us behind.
  process.on('disconnect', () => process.exit(0))
  say({ said: 'loaded' })
}

function createSubjectInbox(
  config: SubjectConfig,
  {
    role,
    reach,
    store,
  }: { role: SubjectRole; reach: (point: string) => Promise<void>; store: Store<ScriptTx> },
): FaultInbox {
  const inbox: FaultInbox = createInbox({
    store,
    sources: createFaultSources(),
    // Long enough for a machine that is busy; a test of deadlines gives its own.
    receive: { answerTimeoutMs: 30_000, ...config.receive },
    worker: role.worker ? { pollMs: 100, ...config.worker } : false,
    destinations:
      config.sink === undefined
        ? []
        : [httpDestination('sink', { ...config.sink, client: CLIENTS[config.client ?? 'node'] })],
    relay: config.relay === undefined ? false : { pollMs: 100, ...config.relay },
    logger: SILENT,
  })
  if (config.isQuiet !== true) {
    inbox.events.onAny((name, about) =>
      say({ said: 'happened', name, key: 'key' in about ? about.key : undefined }),
    )
  }
  if (role.worker) addHandler(inbox, config, reach)
  return inbox
}

function addHandler(
  inbox: FaultInbox,
  { handler: given = {}, handlers, steps, store, lanes }: SubjectConfig,
  reach: (point: string) => Promise<void>,
): void {
  const host = { reach, queryOutside: queryOutside(store) }
  const onFrozen = ({ key }: WebhookEvent) => say({ said: 'reached', point: `lane ${key}` })
  const ordered = lanes === undefined ? {} : { order: orderOf(lanes, onFrozen) }
  const handler = { ...given, ...ordered }
  for (const { source, types, options } of handlers ?? [])
    inbox.on(source, types, options, createScriptedHandler(host))
  if (steps === undefined) {
    if (handlers === undefined) inbox.on('partner', '*', handler, createScriptedHandler(host))
    return
  }
  const { sink, options = {}, types = '*' } = steps
  inbox.steps('partner', types, { ...options, ...ordered }, createScriptedSteps(host, sink))
}

function queryOutside(
  config: StoreConfig,
): (sql: string, params: readonly unknown[]) => Promise<void> {
  return async (sql, params) => {
    if (config.engine === 'sqlite') {
      const handle = (await openDriver('libsql')).open(config.file)
      handle.execute('pragma busy_timeout = 5000')
      handle.prepare(sql.replaceAll('$', '?')).query(params.map(toSqlValue))
      return handle.close()
    }
    const client = new pg.Client(config.connection)
    await client.connect()
    await client.query(sql, [...params])
    await client.end()
  }
}

function createStore(config: StoreConfig, probe: TrapProbe): Store<ScriptTx> {
  if (config.engine === 'sqlite') {
    probeLibsql((boundary) => probe.pass(boundary))
    return sqliteStore(config.file, { driver: 'libsql' })
  }
  const { Client } = createProbedClients((boundary) => probe.pass(boundary))
  const pool = new pg.Pool({ ...config.connection, max: config.poolMax ?? 12, Client })
  pool.on('error', () => undefined)
  return postgresStore({ pool })
}

function stopOnSigterm(role: SubjectRole, inbox: FaultInbox, config: SubjectConfig): void {
  process.once('SIGTERM', () => {
    void role.stop(inbox, config).then(
      () => process.exit(0),
      (error: unknown) => {
        say({ said: 'failed', error: String(error) })
        process.exit(1)
      },
    )
  })
}

function answer(work: () => Promise<FromSubject>): void {
  work().then(say, (error: unknown) =>
    say({ said: 'failed', error: error instanceof Error ? (error.stack ?? '') : String(error) }),
  )
}

function say(message: FromSubject): void {
  process.send?.(message)
}

const SILENT = {
  debug: () => undefined,
  info: () => undefined,
  warn: () => undefined,
  error: () => undefined,
}
