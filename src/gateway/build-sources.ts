/**
 * From what a config says of its senders to sources of the library.
 *
 * @module
 */

import { asError, HookonceError } from '../errors.ts'
import type { Source } from '../model/source.ts'
import { didYouMean } from '../options/did-you-mean.ts'
import * as providers from '../providers/index.ts'
import type { ResolvedConfig, ResolvedSourceConfig } from './config/schema.ts'

type MakeSource = (options: Record<string, unknown>) => Source

/** The shortest secret that is taken. With fewer bytes it can be tried out by a stranger who has one delivery. */
const SECRET_BYTES_MIN = 16

/**
 * Every source, or every problem at once.
 *
 * @throws HookonceError CONFIG_INVALID
 */
export function buildSources(config: Pick<ResolvedConfig, 'sources'>): Record<string, Source> {
  const problems = findSourceProblems(config)
  if (problems.length > 0) {
    const lines = problems.map((problem) => `  - ${problem}`).join('\n')
    throw new HookonceError('CONFIG_INVALID', `The config cannot be used:\n${lines}`)
  }
  return Object.fromEntries(
    Object.entries(config.sources).map(([name, given]) => [name, buildSource(given)]),
  )
}

/** Why sources cannot be made as the config says. */
export function findSourceProblems({
  sources,
}: Pick<ResolvedConfig, 'sources'>): readonly string[] {
  return Object.entries(sources).flatMap(([name, given]) => {
    try {
      buildSource(given)
      return []
    } catch (error) {
      return [`sources.${name}: ${asError(error).message}`]
    }
  })
}

function buildSource(given: ResolvedSourceConfig): Source {
  const { provider, forward: _routes, secrets, ...options } = given
  const make =
    typeof provider === 'function' ? (provider as unknown as MakeSource) : findProvider(provider)
  requireStrongSecrets(secrets)
  const source = make({
    ...options,
    ...(secrets !== undefined && { secrets: secrets.map(withDate) }),
  })
  requireStrongKeys(source)
  return source
}

function findProvider(name: string): MakeSource {
  const known = listProviders()
  const found = known.get(name)
  if (found !== undefined) return found
  throw new HookonceError(
    'CONFIG_INVALID',
    `there is no provider "${name}"${didYouMean(name, known.keys())} \`hookonce sources providers\` lists them; any other that signs with HMAC is "hmac"`,
  )
}

/** By the name that a config calls them: `stripe`, `aws-sns`. */
export function listProviders(): ReadonlyMap<string, MakeSource> {
  const vendors = Object.values(providers).flatMap((each): [string, MakeSource][] =>
    typeof each === 'function' && 'definition' in each
      ? [[each.definition.provider, each as unknown as MakeSource]]
      : [],
  )
  return new Map<string, MakeSource>([
    ...vendors.toSorted(([one], [other]) => (one < other ? -1 : 1)),
    ['hmac', providers.hmac as unknown as MakeSource],
    ['unsigned', providers.unsigned as unknown as MakeSource],
  ])
}

type GivenSecret = NonNullable<ResolvedSourceConfig['secrets']>[number]

/** For what a provider makes no key of by itself, such as a hash of it. */
function requireStrongSecrets(secrets: readonly GivenSecret[] = []): void {
  secrets.forEach((secret, index) => {
    const text = typeof secret === 'string' ? secret : secret.value
    if (Buffer.byteLength(text) >= SECRET_BYTES_MIN) return
    throw new HookonceError(
      'CONFIG_INVALID',
      `secrets[${index}] is shorter than ${SECRET_BYTES_MIN} bytes, so that it could be guessed. Have the sender make a longer one`,
    )
  })
}

/** A text of base64 or hex is longer than its key, and only the provider knows which it is. */
function requireStrongKeys({ shortSecrets: [label] = [] }: Source): void {
  if (label === undefined) return
  throw new HookonceError(
    'CONFIG_INVALID',
    `secret ${label} is a key of fewer than ${SECRET_BYTES_MIN} bytes when it is decoded, so that it could be guessed. Have the sender make a longer one`,
  )
}

function withDate(secret: GivenSecret): unknown {
  if (typeof secret === 'string' || secret.until === undefined) return secret
  return { ...secret, until: new Date(secret.until) }
}
