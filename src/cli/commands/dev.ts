/**
 * `hookonce dev`: everything on this machine, in any folder, with nothing to set up.
 *
 *     config ─▶ SQLite ─▶ listen ─▶ banner ─▶ tail and keys ─▶ drain
 *
 * It is the gateway that `hookonce start` runs, with a config that may have a source of its own, and with a person who
 * watches.
 *
 * @module
 */

import { InvalidArgumentError } from 'commander'
import type { Command } from 'commander'
import type { ResolvedConfig } from '../../gateway/config/schema.ts'
import { makeDevFolder } from '../../gateway/dev-folder.ts'
import { startGateway } from '../../gateway/gateway.ts'
import type { Gateway, GatewayOptions } from '../../gateway/gateway.ts'
import type { Inbox, SourceMap } from '../../index.ts'
import { withConfigFlags } from '../config-flags.ts'
import { printBanner } from '../dev/banner.ts'
import { loadDevConfig } from '../dev/dev-config.ts'
import type { DevFlags } from '../dev/dev-config.ts'
import { createDevLogger } from '../dev/dev-logger.ts'
import { installSqlite } from '../dev/install-sqlite.ts'
import { Keyboard } from '../dev/keyboard.ts'
import { createKeys } from '../dev/keys.ts'
import { Screen } from '../dev/screen.ts'
import { sendTestEvent } from '../dev/send-test-event.ts'
import { Tail } from '../dev/tail.ts'
import { EXIT } from '../exit-codes.ts'

export function addDev(program: Command): void {
  withConfigFlags(program.command('dev'))
    .description('try it here: a source, a store, a live tail; nothing to set up')
    .option('--forward <url>', 'every source forwards to this URL', readUrl)
    .option('--demo', 'first send itself one event ten times at once')
    .option('-y, --yes', 'install SQLite where Node has none, without asking')
    .addHelpText('after', EXAMPLES)
    .action(dev)
}

const EXAMPLES = `
Examples:
  hookonce dev
  hookonce dev --forward http://localhost:3000/webhooks
  hookonce dev --store postgres://localhost/app`

async function dev(flags: DevFlags): Promise<void> {
  const screen = new Screen(process.stdout, process.env)
  const keyboard =
    screen.isTerminal && process.stdin.isTTY ? new Keyboard(process.stdin, screen) : undefined
  makeDevFolder(process.cwd())
  const wanted = await loadDevConfig(flags)
  if (wanted.config.store.startsWith('sqlite:')) await provideSqlite(flags, screen, keyboard)
  const tail = new Tail(screen, { isQuiet: flags.demo === true })
  const { gateway, bound, takenPort } = await listenNear({
    config: wanted.config,
    folder: process.cwd(),
    logger: createDevLogger(screen),
    prepare: (inbox, config) => {
      tail.listenTo(inbox)
      printEvents(inbox, config, tail)
    },
    watch: tail,
    // What is tried here may be tried by the model beside the person as well.
    mcpRoleWithoutToken: 'admin',
  })
  const quit = stopOnSignals(gateway, screen, keyboard)
  try {
    const { port: wantedPort } = wanted.config.receive
    await run({ flags, screen, keyboard, tail, gateway, bound, wantedPort, takenPort, quit })
  } catch (error) {
    keyboard?.stop()
    await gateway.stop()
    throw error
  }
}

interface DevParts {
  readonly flags: DevFlags
  readonly screen: Screen
  readonly keyboard: Keyboard | undefined
  readonly tail: Tail
  readonly gateway: Gateway
  readonly wantedPort: number
  readonly takenPort: number | undefined
  /** With the port that was free. */
  readonly bound: ResolvedConfig
  readonly quit: () => void
}

async function run(parts: DevParts): Promise<void> {
  const { flags, screen, keyboard, tail, gateway, bound, wantedPort, takenPort, quit } = parts
  const config = onPort(bound, gateway.address?.port ?? bound.receive.port)
  const banner = {
    config,
    place: gateway.place,
    adminUrl: findAdminUrl(gateway),
    takenPort,
    namesPort: flags.port !== undefined || config.receive.port !== wantedPort,
    hasKeys: keyboard !== undefined,
  }
  if (flags.demo === true) {
    await gateway.untilStarted()
    screen.line(await sendTestEvent(config, gateway.inbox.admin, 10))
  }
  printBanner(screen, banner)
  tail.begin()
  if (keyboard !== undefined) {
    // The port cannot be changed while it runs: a config that is loaded anew must say the same.
    const fixed = { ...flags, port: bound.receive.port }
    const key = createKeys({ gateway, screen, tail, keyboard, flags: fixed, config, quit })
    keyboard.start({ key, interrupt: quit })
  }
  if (flags.demo !== true) await gateway.untilStarted()
}

function findAdminUrl({ adminAddress: at }: Gateway): string | undefined {
  if (at === undefined) return undefined
  return `http://${at.family === 'IPv6' ? `[${at.address}]` : at.address}:${at.port}/api/v1`
}

async function provideSqlite(
  { yes }: DevFlags,
  screen: Screen,
  keyboard: Keyboard | undefined,
): Promise<void> {
  await installSqlite(process.cwd(), {
    screen,
    isAgreed: yes === true,
    confirm:
      keyboard &&
      (async (question) => {
        keyboard.start({ key: async () => undefined, interrupt: () => process.exit(EXIT.failed) })
        const answer = await keyboard.ask(question)
        keyboard.stop()
        return answer !== undefined && /^(y|yes)?$/i.test(answer)
      }),
  })
}

/** The events of a source that forwards nowhere are shown, and done. */
function printEvents(
  inbox: Inbox<SourceMap, unknown>,
  { sources }: ResolvedConfig,
  tail: Tail,
): void {
  for (const [name, { forward = [] }] of Object.entries(sources))
    if (forward.length === 0)
      inbox.on(name, '*', { name: 'print' }, async (event) => tail.printEvent(event))
}

/** How many ports are tried. */
const PORTS_MAX = 20

interface Listening {
  readonly gateway: Gateway
  readonly bound: ResolvedConfig
  /** The first that another program has: that of the receiver, or that of the admin listener. */
  readonly takenPort: number | undefined
}

/** On the port that is wanted, or on the next that is free, with the admin listener on the one beside it. */
async function listenNear(options: GatewayOptions): Promise<Listening> {
  const { port: first } = options.config.receive
  let takenPort: number | undefined
  for (let by = 0; ; by += 2) {
    try {
      // A port 0 is any that is free, and stays so.
      const bound = withAdminBeside(onPort(options.config, first === 0 ? 0 : first + by), by)
      return { gateway: await startGateway({ ...options, config: bound }), bound, takenPort }
    } catch (error) {
      const port = findTakenPort(error)
      if (port === undefined || by >= 2 * PORTS_MAX) throw error
      takenPort ??= port
    }
  }
}

function findTakenPort(error: unknown): number | undefined {
  const isTaken = error instanceof Error && 'code' in error && error.code === 'EADDRINUSE'
  return isTaken && 'port' in error ? Number(error.port) : undefined
}

function onPort(config: ResolvedConfig, port: number): ResolvedConfig {
  return { ...config, receive: { ...config.receive, port } }
}

/** As far from the one that was wanted. A port 0 is any that is free. */
function withAdminBeside(config: ResolvedConfig, by: number): ResolvedConfig {
  const { port } = config.admin
  return { ...config, admin: { ...config.admin, port: port === 0 ? 0 : port + by } }
}

/** The first wish to end drains; the second, of a person who cannot wait, ends the process as a crash would. */
function stopOnSignals(
  gateway: Gateway,
  screen: Screen,
  keyboard: Keyboard | undefined,
): () => void {
  let isStopping = false
  const stop = (): void => {
    if (isStopping) process.exit(EXIT.failed)
    isStopping = true
    screen.paragraph('Stopping: what has begun ends first. Again to end at once.', '')
    void gateway.stop().finally(() => {
      keyboard?.stop()
      process.exit(EXIT.ok)
    })
  }
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, stop)
  return stop
}

function readUrl(text: string): string {
  if (URL.canParse(text) && /^https?:$/.test(new URL(text).protocol)) return text
  throw new InvalidArgumentError('It must be a URL, such as http://localhost:3000/webhooks.')
}
