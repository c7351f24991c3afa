import type { ResolvedConfig } from '../../gateway/config/schema.ts'
import { displayWidth } from '../output/display-width.ts'
import { urlOf } from '../receive-url.ts'
import { maskUrl } from '../../gateway/mask-url.ts'
import { VERSION } from '../../gateway/version.ts'
import { FORWARD_SECRET_FILE } from '../../gateway/dev-folder.ts'
import { DEMO, FORWARD } from './dev-config.ts'
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
  /** A port that was wanted, where another program has it. */
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
    ...(facts.adminUrl === undefined ? [] : [['admin', [facts.adminUrl]] as const]),
    ['store', [place]] as const,
  ]
  const width = Math.max(...rows.map(([name]) => name.length))
  screen.line()
  screen.line(`  ${screen.paint('bold', `hookonce ${VERSION}`)} takes webhooks in, each once`)
  screen.line()
  for (const [name, parts] of rows) {
    const [first, ...others] = layOut(parts, screen.columns - width - 4)
    screen.line(`  ${screen.paint('bold', name.padEnd(width))}  ${first}`)
    for (const text of others) screen.line(' '.repeat(width + 4) + text)
  }
  screen.line()
  if (takenPort !== undefined)
    screen.paragraph(
      `Port ${takenPort} is taken by another program. Those above are the next that were free.`,
    )
  const [secret] = config.destinations[FORWARD]?.secrets ?? []
  if (secret !== undefined) {
    screen.paragraph(
      `What is forwarded is signed with this secret, kept in ${FORWARD_SECRET_FILE}:`,
    )
    screen.line(`  ${secret}`)
    screen.line()
  }
  const trigger = ['Send an event: ', triggerLine(config, facts.namesPort)]
  for (const text of layOut(trigger, screen.columns - 2)) screen.line(`  ${text}`)
  screen.line(facts.hasKeys ? '  Press h for the keys, q to quit.' : '  Stop with Ctrl-C.')
  screen.line()
}

/** On one line where they fit, and else on one each: a URL or a command is copied as a whole. */
function layOut(parts: readonly string[], room: number): readonly string[] {
  const texts = parts.map((part) => harmless(part, 240))
  const line = texts.join(' ')
  return displayWidth(line) <= room ? [line] : texts
}

/** Its URL, and where it forwards to. */
function describeSource(
  { receive, sources, destinations }: ResolvedConfig,
  name: string,
): readonly string[] {
  const targets = (sources[name]?.forward ?? []).map((entry) => {
    const to = typeof entry === 'string' ? entry : entry.to
    return maskUrl(destinations[to]?.url ?? to)
  })
  const url = urlOf(receive, name)
  return targets.length === 0 ? [url] : [url, `─▶ ${targets.join(', ')}`]
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
