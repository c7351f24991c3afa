import pg from 'pg'
import { callOutside, effectsOf } from './drain-config.ts'
import type { DrainConfig } from './drain-config.ts'
import { hear, importPeer, runSubject, say, startClock } from './subject.ts'

type DbosConfig = DrainConfig & { readonly parallel: number }

/** The members of DBOS that are used here. */
interface Dbos {
  readonly DBOS: {
    setConfig(config: object): void
    launch(): Promise<void>
    shutdown(): Promise<void>
    registerWorkflow<Args extends unknown[], Result>(
      work: (...args: Args) => Promise<Result>,
      config: { readonly name: string },
    ): (...args: Args) => Promise<Result>
    runStep<Result>(work: () => Promise<Result>, config: { readonly name: string }): Promise<Result>
    startWorkflow<Args extends unknown[], Result>(
      workflow: (...args: Args) => Promise<Result>,
      params: { readonly workflowID: string },
    ): (...args: Args) => Promise<{ getResult(): Promise<Result> }>
  }
}

const { DBOS } = await importPeer<Dbos>('@dbos-inc/dbos-sdk')

/**
 * DBOS: a workflow of three steps, each kept when it has run. Its writes go through a pool of their own, as
 * in its guide, so that one that crashed before its step was kept is written twice.
 */
runSubject<DbosConfig>(async (config) => {
  const { postgres, poolMax, events, parallel } = config
  const pool = new pg.Pool({ ...postgres, max: poolMax })
  const systemDatabasePool = new pg.Pool({ ...postgres, max: poolMax })
  DBOS.setConfig({
    name: 'bench',
    applicationVersion: '1',
    systemDatabasePool,
    systemDatabaseUrl: urlOf(config),
    logLevel: 'error',
    runAdminServer: false,
    tracingEnabled: false,
  })
  const workflow = DBOS.registerWorkflow(
    async (id: string) => {
      const [first, second] = effectsOf(id)
      const order = await DBOS.runStep(
        async () => {
          await pool.query(first.text, first.values)
          return { id }
        },
        { name: 'create order' },
      )
      const label = await DBOS.runStep(() => callOutside(order.id), { name: 'buy label' })
      await DBOS.runStep(
        async () => {
          await pool.query(second.text, second.values)
          return label
        },
        { name: 'ship' },
      )
    },
    { name: 'fulfil' },
  )
  await DBOS.launch()
  say({ kind: 'filled' })
  await hear('go')

  const stopClock = startClock()
  let next = 0
  const one = async (): Promise<void> => {
    while (next < events) {
      const id = `evt_${next}`
      next += 1
      const handle = await DBOS.startWorkflow(workflow, { workflowID: id })(id)
      await handle.getResult()
    }
  }
  await Promise.all(Array.from({ length: parallel }, one))
  say({ kind: 'finished', ...stopClock(), notes: {} })
  await DBOS.shutdown()
  await pool.end()
})

function urlOf({ postgres }: DbosConfig): string {
  const { user = '', password = '', host = '', port = 5432, database = '' } = postgres ?? {}
  const login = `${encodeURIComponent(user)}:${encodeURIComponent(password)}`
  return `postgresql://${login}@localhost:${port}/${database}?host=${encodeURIComponent(host)}`
}
