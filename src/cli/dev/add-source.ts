/**
 * The key `a`: a source more, while the gateway runs.
 *
 * It is kept in `.hookonce` when the gateway has taken it over, and not before: what is there can be started with.
 *
 * @module
 */

import { asError } from '../../errors.ts'
import { listProviders } from '../../gateway/build-sources.ts'
import { addDevSource, readDevLayer, withDevSource } from '../../gateway/dev-folder.ts'
import type { Gateway } from '../../gateway/gateway.ts'
import type { ResolvedConfig } from '../../gateway/config/schema.ts'
import { didYouMean } from '../../options/did-you-mean.ts'
import { loadWithForward, makeSecret } from './dev-config.ts'
import type { DevFlags } from './dev-config.ts'
import type { Keyboard } from './keyboard.ts'

/** What came of it, in lines for a person, and the config that is in use then. */
export interface Added {
  readonly lines: readonly string[]
  readonly config?: ResolvedConfig
}

interface AddTerms {
  readonly gateway: Gateway
  readonly flags: DevFlags
  readonly known: readonly string[]
  readonly keyboard: Pick<Keyboard, 'ask'>
}

/** Asks for a provider, a name and a secret. Leaving any of the questions leaves everything as it was. */
export async function addSource({ gateway, flags, known, keyboard }: AddTerms): Promise<Added> {
  const provider = await keyboard.ask('provider, such as stripe, github or hmac: ')
  if (provider === undefined || provider === '') return { lines: [] }
  if (!listProviders().has(provider))
    return say(`There is no provider "${provider}"${didYouMean(provider, listProviders().keys())}`)
  const given = await keyboard.ask(`name of the source [${provider}]: `)
  if (given === undefined) return { lines: [] }
  const name = given || provider
  if (known.includes(name)) return say(`There is a source "${name}" already`)
  const secret = await keyboard.ask('secret, as the sender shows it (empty: one is made): ', {
    isSecret: true,
  })
  if (secret === undefined) return { lines: [] }
  const secrets = [secret || makeSecret()]
  const source = { provider, ...PRESETS[provider], secrets }
  const added = await takeOver({ gateway, flags }, name, source)
  if (secret !== '' || added.config === undefined) return added
  const told = ['Its secret was made here. Give it to the sender:', `  ${secrets.join()}`]
  return { ...added, lines: [...told, ...added.lines] }
}

/** What a sender that signs with HMAC most often does; what differs is changed in the file. */
const PRESETS: Readonly<Record<string, object>> = {
  hmac: {
    header: 'x-signature',
    algorithm: 'sha256',
    encoding: 'hex',
    key: 'json:$.id',
    type: 'json:$.type',
  },
}

async function takeOver(
  { gateway, flags }: Pick<AddTerms, 'gateway' | 'flags'>,
  name: string,
  source: { readonly provider: string },
): Promise<Added> {
  const folder = process.cwd()
  const value = withDevSource(readDevLayer(folder), name, source)
  try {
    const { config } = await loadWithForward(flags, { origin: 'the new source', value })
    const reloaded = await gateway.reload(config)
    if (reloaded.status === 'refused') return refused(reloaded.reason, source)
    addDevSource(folder, name, source)
    return { config, lines: [...EXPLAINED, ...configLines(name, source)] }
  } catch (error) {
    return refused(asError(error).message, source)
  }
}

/** What is said of a whole config, for the one part that is new. */
function refused(reason: string, { provider }: { readonly provider: string }): Added {
  const problems = reason.replace(/^The config cannot be used:\n/, '').split(/\n? {2}- /)
  const lines = [`It was not added: ${problems.filter(Boolean).join('; ')}`]
  const asksForMore = new RegExp(`\\b${provider}(: unknown option|\\.(?!secrets\\b)\\w+ must)`)
  return { lines: asksForMore.test(reason) ? [...lines, NOT_ASKED_FOR] : lines }
}

const NOT_ASKED_FOR =
  'A key asks for no more than a secret. Write this source into hookonce.config.json, and start again.'

const EXPLAINED = [
  'The source is kept in .hookonce/dev.json. For hookonce start, the config needs:',
]

/** The secret stays out of them. */
function configLines(name: string, source: object): readonly string[] {
  const variable = `${name.toUpperCase().replaceAll('-', '_')}_SECRET`
  const shown = { [name]: { ...source, secrets: [`env:${variable}`] } }
  return JSON.stringify({ sources: shown }, undefined, 2)
    .split('\n')
    .map((line) => `  ${line}`)
}

function say(line: string): Added {
  return { lines: [line] }
}
