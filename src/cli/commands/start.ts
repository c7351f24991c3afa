/**
 * `hookonce start`: a gateway in production. JSON logs, readiness before traffic, SIGTERM drains, SIGHUP reads the
 * config again.
 *
 * @module
 */

import type { Command } from 'commander'
import { asError } from '../../errors.ts'
import { createLogger } from '../../gateway/create-logger.ts'
import { startGateway } from '../../gateway/gateway.ts'
import type { Gateway } from '../../gateway/gateway.ts'
import type { Logger } from '../../index.ts'
import { loadFromFlags, withConfigFlags } from '../config-flags.ts'
import type { ConfigFlags } from '../config-flags.ts'
import { EXIT } from '../exit-codes.ts'

export function addStart(program: Command): void {
  withConfigFlags(program.command('start'))
    .description('run a gateway: receive, work, relay, admin')
    .addHelpText('after', EXAMPLES)
    .action(start)
}

const EXAMPLES = `
Examples:
  hookonce start --store postgres://hookonce@db/hookonce
  hookonce start --role receive --port 8080
  hookonce start --role work,relay`

async function start(flags: ConfigFlags): Promise<void> {
  const { config, file } = await loadFromFlags(flags)
  const logger = createLogger(config.log)
  const gateway = await startGateway({ config, folder: process.cwd(), logger })
  stopOnSignals(gateway, logger)
  reloadOnHangUp(gateway, logger, flags)
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
  try {
    await gateway.untilStarted()
  } catch (error) {
    // It listens by now, and a process that listens does not end.
    await gateway.stop()
    throw error
  }
  logger.info({}, 'gateway.started')
}

/** The first signal drains; the second, of a person who cannot wait, ends the process as a crash would. */
function stopOnSignals(gateway: Gateway, logger: Logger): void {
  let isStopping = false
  const stop = (signal: string): void => {
    if (isStopping) process.exit(EXIT.failed)
    isStopping = true
    logger.info({ signal }, 'gateway.stopping')
    gateway.stop().then(
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
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, stop)
}

function reloadOnHangUp(gateway: Gateway, logger: Logger, flags: ConfigFlags): void {
  process.on('SIGHUP', () => {
    void reload(gateway, flags).then((reason) => {
      if (reason === undefined) logger.info({}, 'config.reloaded')
      else logger.error({ reason }, 'config.refused: the one before it stays')
    })
  })
}

/** Why the config was refused, if it was. */
async function reload(gateway: Gateway, flags: ConfigFlags): Promise<string | undefined> {
  try {
    const { config } = await loadFromFlags(flags)
    const reloaded = await gateway.reload(config)
    return reloaded.status === 'refused' ? reloaded.reason : undefined
  } catch (error) {
    return asError(error).message
  }
}
