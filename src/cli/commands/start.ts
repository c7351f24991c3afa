/**
 * `hookonce start`: a gateway in production. JSON logs, readiness before traffic, SIGTERM drains, SIGHUP reads the
 * config again. With `--processes`, a parent and as many gateways.
 *
 * @module
 */

import cluster from 'node:cluster'
import type { Command } from 'commander'
import { InvalidArgumentError } from 'commander'
import { asError, HookonceError } from '../../errors.ts'
import { buildInbox } from '../../gateway/build-inbox.ts'
import type { ResolvedConfig } from '../../gateway/config/schema.ts'
import { createLogger } from '../../gateway/create-logger.ts'
import type { LevelledLogger } from '../../gateway/create-logger.ts'
import { findRefusal } from '../../gateway/find-refusal.ts'
import { startGateway } from '../../gateway/gateway.ts'
import type { Gateway } from '../../gateway/gateway.ts'
import { CountReporter } from '../../gateway/processes/count-reporter.ts'
import { obeyParent, report } from '../../gateway/processes/obey-parent.ts'
import { isFirst, ProcessGroup } from '../../gateway/processes/process-group.ts'
import type { Logger } from '../../index.ts'
import { loadFromFlags, withConfigFlags } from '../config-flags.ts'
import type { ConfigFlags } from '../config-flags.ts'
import { EXIT } from '../exit-codes.ts'

export function addStart(program: Command): void {
  withConfigFlags(program.command('start'))
    .option(
      '--processes <number>',
      'how many processes share the work on this machine (PostgreSQL)',
      readCount,
    )
    .description('run a gateway: receive, work, relay, admin')
    .addHelpText('after', EXAMPLES)
    .action(start)
}

const EXAMPLES = `
Examples:
  hookonce start --store postgres://hookonce@db/hookonce
  hookonce start --store postgres://hookonce@db/hookonce --processes 4
  hookonce start --role receive --port 8080
  hookonce start --role work,relay`

const TO_START = { purpose: 'start' } as const

async function start(given: ConfigFlags): Promise<void> {
  try {
    await run(given)
  } catch (error) {
    // While a child can hear its parent Node does not end it, and the parent would wait for it.
    cluster.worker?.disconnect()
    throw error
  }
}

async function run(given: ConfigFlags): Promise<void> {
  const { config, file } = await loadFromFlags(given, TO_START)
  // From here on it is this file: one that is gone for a moment would be a config without sources, and every sender
  // would be told that there is nothing here.
  const flags = file === undefined ? given : { ...given, config: file }
  const logger = createLogger(config.log)
  if (config.processes > 1 && cluster.isPrimary) return startGroup(config, logger, flags)
  const counts = cluster.isWorker ? new CountReporter() : undefined
  const gateway = await startGateway({
    config,
    folder: process.cwd(),
    logger,
    // A session, and what is told as it happens, is in one process: a request to another would not find it.
    hasAdmin: isFirst(process.env),
    ...(counts === undefined ? {} : { collectCounts: () => counts.collect() }),
  }).catch((error: unknown) => {
    throw explainPort(error, config)
  })
  if (counts !== undefined) obey(gateway, { logger, flags, counts })
  else {
    stopOnSignals(logger, () => gateway.stop())
    reloadOnHangUp(logger, () => reload(gateway, logger, flags))
  }
  logger.info(
    {
      store: gateway.place,
      roles: config.roles,
      receive: gateway.address,
      admin: gateway.adminAddress,
      config: file,
    },
    'gateway.listening',
  )
  if (!config.roles.some((role) => role === 'receive' || role === 'admin'))
    logger.warn({ roles: config.roles }, NO_HEALTH)
  try {
    if (!(await gateway.untilStarted())) return
  } catch (error) {
    // It listens by now, and a process that listens does not end.
    await gateway.stop()
    throw error
  }
  logger.info({}, 'gateway.started')
  if (cluster.isWorker) void report({ report: 'started' })
}

const NO_HEALTH =
  'gateway.no-health: nothing can ask this process whether it lives or is ready. Add the role admin, which needs no token on 127.0.0.1'

/** Node names the port, and not the setting. */
function explainPort(error: unknown, { receive, admin }: ResolvedConfig): unknown {
  if (!(error instanceof Error) || !('code' in error) || error.code !== 'EADDRINUSE') return error
  const port = 'port' in error ? error.port : undefined
  const setting = port === admin.port && port !== receive.port ? 'admin.port' : 'receive.port'
  const flag = setting === 'admin.port' ? '--admin-port' : '--port'
  return new HookonceError(
    'CONFIG_INVALID',
    `${setting}: another process has the port ${String(port)}. End that process, or set another port: ${flag}`,
    { cause: error },
  )
}

/** The parent: ends when the last of its children is gone. */
async function startGroup(
  config: ResolvedConfig,
  logger: LevelledLogger,
  flags: ConfigFlags,
): Promise<void> {
  await requireUsable(config, logger)
  let checked = config
  const group = new ProcessGroup({
    count: config.processes,
    logger,
    checkConfig: async () => {
      const found = await findProblem(config, logger, flags)
      if (typeof found === 'string') return found
      checked = found
      return undefined
    },
    // Deliveries, handlers and messages have the grace time each, and a goodbye of about ten seconds.
    stopWithinMs: config.receive.withdrawMs + 3 * config.stopGraceMs + 15_000,
  })
  // Ended at once by a second signal, it takes its children with it: Node ends a child whose parent is gone.
  stopOnSignals(logger, async () => {
    group.stop()
    const { code } = await group.gone
    if (code !== 0) throw new Error('one of the processes did not end by itself')
  })
  reloadOnHangUp(logger, async () => {
    const refusal = await group.reload()
    if (refusal === undefined) logger.level = checked.log.level
    return refusal
  })
  group.start()
  logger.info({ processes: config.processes }, 'processes.starting')
  const { code } = await group.gone
  process.exitCode = code
}

/** What a child would refuse, before there is one. Nothing is connected to. */
async function requireUsable(config: ResolvedConfig, logger: Logger): Promise<void> {
  await buildInbox(config, { folder: process.cwd(), logger }).stop()
}

/** The config as it is now, or why it cannot be used. */
async function findProblem(
  before: ResolvedConfig,
  logger: Logger,
  flags: ConfigFlags,
): Promise<ResolvedConfig | string> {
  try {
    const { config } = await loadFromFlags(flags, TO_START)
    await requireUsable(config, logger)
    return findRefusal(before, config) ?? config
  } catch (error) {
    return asError(error).message
  }
}

interface ObeyTerms {
  readonly logger: LevelledLogger
  readonly flags: ConfigFlags
  readonly counts: CountReporter
}

/** A child. A signal that was sent to all of them, as a terminal does, is one order to stop and not two. */
function obey(gateway: Gateway, { logger, flags, counts }: ObeyTerms): void {
  counts.start(() => gateway.count())
  const stop = stopper(logger, async () => {
    await gateway.stop()
    // What was answered and run since it was told to stop.
    await counts.tell()
  })
  for (const signal of STOP_SIGNALS) process.on(signal, () => stop(signal))
  process.on('SIGHUP', () => undefined)
  obeyParent({
    gateway,
    readConfig: async () => (await loadFromFlags(flags, TO_START)).config,
    onTaken: ({ log }) => void (logger.level = log.level),
    tellCounts: () => counts.tell(),
  })
}

const STOP_SIGNALS = ['SIGTERM', 'SIGINT'] as const

/** The first signal drains; the second, of a person who cannot wait, ends the process as a crash would. */
function stopOnSignals(logger: Logger, stopAll: () => Promise<void>): void {
  const stop = stopper(logger, stopAll)
  let isStopping = false
  for (const signal of STOP_SIGNALS)
    process.on(signal, () => {
      if (isStopping) process.exit(EXIT.failed)
      isStopping = true
      stop(signal)
    })
}

/** Stops once, says so, and ends the process. */
function stopper(logger: Logger, stopAll: () => Promise<void>): (signal: string) => void {
  let isStopping = false
  return (signal) => {
    if (isStopping) return
    isStopping = true
    logger.info({ signal }, 'gateway.stopping')
    stopAll().then(
      () => {
        logger.info({}, 'gateway.stopped')
        process.exit(EXIT.ok)
      },
      (error: unknown) => {
        logger.error({ error: asError(error).message }, 'gateway.stop-failed')
        process.exit(EXIT.failed)
      },
    )
  }
}

/** `reloadAll` says why the config was refused, if it was. */
function reloadOnHangUp(logger: Logger, reloadAll: () => Promise<string | undefined>): void {
  process.on('SIGHUP', () => {
    void reloadAll().then((reason) => {
      if (reason === undefined) logger.info({}, 'config.reloaded')
      else logger.error({ reason }, 'config.refused: the one before it stays')
    })
  })
}

async function reload(
  gateway: Gateway,
  logger: LevelledLogger,
  flags: ConfigFlags,
): Promise<string | undefined> {
  try {
    const { config } = await loadFromFlags(flags, TO_START)
    const reloaded = await gateway.reload(config)
    if (reloaded.status === 'refused') return reloaded.reason
    logger.level = config.log.level
    return undefined
  } catch (error) {
    return asError(error).message
  }
}

function readCount(text: string): number {
  if (/^[1-9]\d?$/.test(text)) return Number(text)
  throw new InvalidArgumentError('It must be a number from 1 to 64.')
}
