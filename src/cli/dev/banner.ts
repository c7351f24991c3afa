import type { ResolvedConfig } from '../../gateway/config/schema.ts'
import { urlOf } from '../receive-url.ts'
import { VERSION } from '../../gateway/version.ts'
import { DEMO } from './dev-config.ts'
import { harmless } from './screen.ts'
import type { Screen } from './screen.ts'

/** What the banner tells. */
export interface BannerFacts {
  /** With the port that is listened on. */
  readonly config: ResolvedConfig
  /** Where the store is, without a password. */
  readonly place: string
  /** Where the admin API is, where this process has one. */
  readonly adminUrl: string | undefined
  /** The port that was wanted, where another program has it. */
  readonly takenPort: number | undefined
  /** Whether a command in this folder would not find the port by itself. */
  readonly namesPort: boolean
  readonly hasKeys: boolean
}

/** Where to send to, and how to try it. */
export function printBanner(screen: Screen, facts: BannerFacts): void {
  const { config, place, takenPort } = facts
  const rows = [
    ...Object.keys(config.sources).map((name) => [name, describeSource(config, name)] as const),
    ...(facts.adminUrl === undefined ? [] : [['admin', facts.adminUrl] as const]),
    ['store', place] as const,
  ]
  const width = Math.max(...rows.map(([name]) => name.length))
  screen.line()
  screen.line(`  ${screen.paint('bold', `hookonce ${VERSION}`)} takes webhooks in, each once`)
  screen.line()
  for (const [name, text] of rows)
    screen.line(`  ${screen.paint('bold', name.padEnd(width))}  ${harmless(text, 240)}`)
  screen.line()
  if (takenPort !== undefined)
    screen.line(`  Port ${takenPort} is taken by another program: this is ${config.receive.port}.`)
  screen.line(`  Send an event:  ${triggerLine(config, facts.namesPort)}`)
  screen.line(facts.hasKeys ? '  Press h for the keys, q to quit.' : '  Stop with Ctrl-C.')
  screen.line()
}

function describeSource({ receive, sources, destinations }: ResolvedConfig, name: string): string {
  const targets = (sources[name]?.forward ?? []).map((entry) => {
    const to = typeof entry === 'string' ? entry : entry.to
    return destinations[to]?.url ?? to
  })
  const url = urlOf(receive, name)
  return targets.length === 0 ? url : `${url}  ─▶  ${targets.join(', ')}`
}

/** To copy. */
function triggerLine(
  { receive, sources }: Pick<ResolvedConfig, 'receive' | 'sources'>,
  namesPort: boolean,
): string {
  const source = DEMO in sources ? DEMO : (Object.keys(sources)[0] ?? DEMO)
  const type = source === DEMO ? ` ${DEMO_TYPE}` : ''
  return `${COMMAND} trigger ${source}${type}${namesPort ? ` --port ${receive.port}` : ''}`
}

/** The type of the events that the demo source is sent. */
export const DEMO_TYPE = 'order.paid'

/** How this command is run here: in a clone of the repository there is nothing that npx would find. */
const COMMAND = import.meta.url.endsWith('.ts') ? 'npm run hookonce --' : 'npx hookonce'
