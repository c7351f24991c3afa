/**
 * What the keys of `hookonce dev` do.
 *
 * @module
 */

import { writeFileSync } from 'node:fs'
import path from 'node:path'
import { asError } from '../../errors.ts'
import type { ResolvedConfig } from '../../gateway/config/schema.ts'
import { DEV_FOLDER, makeDevFolder } from '../../gateway/dev-folder.ts'
import type { Gateway } from '../../gateway/gateway.ts'
import { escapeText } from '../../telemetry/escape-text.ts'
import { advise } from '../output/advise.ts'
import { urlOf } from '../receive-url.ts'
import { addSource } from './add-source.ts'
import type { DevFlags } from './dev-config.ts'
import type { Keyboard } from './keyboard.ts'
import { harmless } from './screen.ts'
import type { Screen } from './screen.ts'
import { sendTestEvent } from './send-test-event.ts'
import type { DeadThing, Tail } from './tail.ts'

/** What the keys act on. */
export interface KeyTerms {
  readonly gateway: Gateway
  readonly screen: Screen
  readonly tail: Tail
  readonly keyboard: Pick<Keyboard, 'ask'>
  readonly flags: DevFlags
  /** With the port that is listened on. */
  readonly config: ResolvedConfig
  readonly quit: () => void
}

const KEYS = {
  h: 'help',
  t: 'send a test event twice',
  a: 'add a source',
  r: 'retry the last dead one',
  c: 'copy the last body',
  q: 'quit',
} as const

/** The most that is sent to a clipboard: terminals drop longer sequences, or show them. In base64. */
const CLIPBOARD_LENGTH_MAX = 74_994

/** One function for all keys; what a key fails at is a line, and never the end of the process. */
export function createKeys(terms: KeyTerms): (key: string) => Promise<void> {
  const { screen } = terms
  let { config } = terms
  const say = (text: string): void => screen.paragraph(harmless(text, 400))
  const actions: Readonly<Record<string, () => Promise<void> | void>> = {
    h: () => {
      for (const [key, what] of Object.entries(KEYS))
        screen.line(`  ${screen.paint('bold', key)}  ${what}`)
    },
    t: async () => say(await sendTestEvent(config, terms.gateway.inbox.admin, 2)),
    a: async () => {
      const known = Object.keys(config.sources)
      const added = await addSource({ ...terms, known })
      if (added.config !== undefined) config = { ...added.config, receive: config.receive }
      const names = Object.keys(config.sources).filter((name) => !known.includes(name))
      for (const name of names) say(`Added: ${urlOf(config.receive, name)}`)
      for (const line of added.lines)
        if (line.startsWith(' ')) screen.line(`  ${escapeText(line)}`)
        else screen.paragraph(escapeText(line))
    },
    r: async () => say(await retryDead(terms)),
    c: () => say(copyBody(terms)),
    q: terms.quit,
  }
  return async (key) => {
    try {
      await actions[key]?.()
    } catch (error) {
      say(asError(error).message)
    }
  }
}

async function retryDead({ gateway, tail }: KeyTerms): Promise<string> {
  const { admin } = gateway.inbox
  const dead = tail.takeLastDead() ?? (await findDead(admin))
  if (dead === undefined) return 'Nothing is dead.'
  const terms = { actor: 'hookonce dev', reason: 'the key r' }
  const result =
    dead.kind === 'event'
      ? await admin.retry(dead.id, terms)
      : await admin.retryMessage(dead.id, terms)
  return result.status === 'done'
    ? `The ${dead.kind} ${dead.id} is tried again.`
    : `The ${dead.kind} ${dead.id} is not tried again: ${result.reason} ${advise(result.instead, dead.id)}`
}

/** Of an earlier run, or one that died before the last. */
async function findDead(admin: Gateway['inbox']['admin']): Promise<DeadThing | undefined> {
  const [event] = await admin.listDead({ limit: 1 })
  if (event !== undefined) return { kind: 'event', id: event.id }
  const { messages } = await admin.listMessages({ state: 'dead', limit: 1 })
  const [message] = messages
  return message === undefined ? undefined : { kind: 'message', id: message.id }
}

/** To the clipboard by OSC 52, which also works over SSH, and to a file, since not every terminal takes it. */
function copyBody({ screen, tail }: KeyTerms): string {
  const { lastBody } = tail
  if (lastBody === undefined) return 'No delivery has come yet.'
  writeFileSync(path.join(makeDevFolder(process.cwd()), 'last-body'), lastBody, { mode: 0o600 })
  const text = Buffer.from(lastBody).toString('base64')
  const isShort = text.length <= CLIPBOARD_LENGTH_MAX
  if (isShort) screen.control(`\x1b]52;c;${text}\x07`)
  const where = isShort ? 'the clipboard, where the terminal allows it, and ' : ''
  return `${lastBody.length} bytes are in ${where}${DEV_FOLDER}/last-body.`
}
