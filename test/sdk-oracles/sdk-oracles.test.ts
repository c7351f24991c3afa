import { randomUUID } from 'node:crypto'
import fs from 'node:fs'
import fc from 'fast-check'
import { beforeAll, describe, expect, test } from 'vitest'
import type { Delivery } from '../../src/model/delivery.ts'
import type { Provider } from '../../src/providers/index.ts'
import { requireFixture, sign } from '../../src/testing/sign.ts'
import { PROVIDERS } from '../providers/vector.ts'
import { makeKeys, optionsOf } from './oracle.ts'
import type { OracleKeys, OracleRequest, SdkOracle } from './oracle.ts'
import { WITHOUT_ORACLE } from './without-oracle.ts'

const FILES = fs.readdirSync(new URL('oracles', import.meta.url)).sort()
const ORACLES = await Promise.all(
  FILES.map(async (file) => {
    const { ORACLE } = (await import(`./oracles/${file.slice(0, -3)}.ts`)) as { ORACLE: SdkOracle }
    return ORACLE
  }),
)

describe('the list of oracles', () => {
  const slugs = ORACLES.map(({ slug }) => slug)

  test('has a file for each, by the name of its provider', () => {
    expect(slugs.map((slug) => `${slug.replaceAll('_', '-')}.ts`)).toEqual(FILES)
  })

  test('has every provider, or says why not', () => {
    const known = [...slugs, ...Object.keys(WITHOUT_ORACLE)]

    expect(known.sort()).toEqual([...PROVIDERS.keys()].sort())
  })

  test('uses every package of the folder, and no other', () => {
    const manifest = fs.readFileSync(new URL('package.json', import.meta.url), 'utf8')
    const { devDependencies } = JSON.parse(manifest) as { devDependencies: object }

    expect([...new Set(ORACLES.flatMap(({ packages }) => packages))].sort()).toEqual(
      Object.keys(devDependencies).sort(),
    )
  })
})

describe.each(ORACLES.map((oracle) => [oracle.slug, oracle] as const))('%s', (_slug, oracle) => {
  const [keys, otherKeys] = makeKeys(oracle)
  const provider = requireProvider(oracle)
  const judges: readonly Judge[] = [
    { name: 'the library', believes: (request) => believes(oracle, request, keys) },
    {
      name: 'ours',
      believes: async (request) => {
        const source = provider(optionsOf(oracle, keys))
        return (await source.verify(deliveryOf(request))).ok
      },
    },
  ]
  const theirs = async (signingKeys: OracleKeys): Promise<readonly OracleRequest[]> =>
    Promise.all(
      draftsOf(oracle, provider, otherKeys).map(async (draft) => ({
        ...draft,
        ...(await oracle.sign(draft, signingKeys)),
      })),
    )

  // Loading a large library takes longer than some of them let a timestamp get old.
  beforeAll(async () => {
    await theirs(keys)
    await verdictsOf(judges, await theirs(keys))
  })

  test('what the provider signs is believed by its library and by us', async () => {
    expect(await verdictsOf(judges, await theirs(keys))).toEqual(allJudges(judges, true))
  })

  test('what another secret signed is refused by both', async () => {
    expect(await verdictsOf(judges, await theirs(otherKeys))).toEqual(allJudges(judges, false))
  })

  test(
    oracle.bodyIsUnsigned ?? 'what was changed after it was signed is refused by both',
    async () => {
      const changed = (await theirs(keys)).map((request) => tamper(oracle, request))

      const isBelieved = oracle.bodyIsUnsigned !== undefined
      expect(await verdictsOf(judges, changed)).toEqual(allJudges(judges, isBelieved))
    },
  )

  const ours = (signingKeys: OracleKeys) => signedByKit(oracle, provider, signingKeys)

  test('what our kit signs is believed by the library and by us', async () => {
    expect(await verdictsOf(judges, ours(keys))).toEqual(allJudges(judges, true))
  })

  test('what our kit signs with another secret, or is changed then, is refused by both', async () => {
    expect(await verdictsOf(judges, ours(otherKeys))).toEqual(allJudges(judges, false))
    if (oracle.bodyIsUnsigned !== undefined) return
    const changed = ours(keys).map((request) => tamper(oracle, request))
    expect(await verdictsOf(judges, changed)).toEqual(allJudges(judges, false))
  })
})

function requireProvider({ slug }: SdkOracle): Provider<object> {
  const provider = PROVIDERS.get(slug)
  if (provider === undefined) throw new Error(`no provider ${slug}`)
  return provider
}

interface Judge {
  readonly name: string
  readonly believes: (request: OracleRequest) => Promise<boolean>
}

/** What each judge says of each request; one word for all that they say alike. */
async function verdictsOf(judges: readonly Judge[], requests: readonly OracleRequest[]) {
  expect(requests.length).toBeGreaterThan(0)
  const entries = judges.map(async ({ name, believes: ask }) => {
    const verdicts = new Set<boolean>()
    for (const request of requests) verdicts.add(await ask(request))
    return [name, [...verdicts]] as const
  })
  return Object.fromEntries(await Promise.all(entries))
}

function allJudges(judges: readonly Judge[], verdict: boolean) {
  return Object.fromEntries(judges.map(({ name }) => [name, [verdict]]))
}

async function believes(
  { verify }: SdkOracle,
  request: OracleRequest,
  keys: OracleKeys,
): Promise<boolean> {
  try {
    return await verify(request, keys)
  } catch (error) {
    // A library that cannot be loaded, or has changed its API, refuses nothing.
    const { code = '' } = error as { readonly code?: unknown }
    if (/MODULE_NOT_FOUND|PATH_NOT_EXPORTED/.test(String(code))) throw error
    if (error instanceof TypeError && /is not a (function|constructor)/.test(error.message)) {
      throw error
    }
    return false
  }
}

/** The fixture's requests, to be signed; and the same with bytes that no formatter would write. */
function draftsOf(
  oracle: SdkOracle,
  provider: Provider<object>,
  otherKeys: OracleKeys,
): readonly OracleRequest[] {
  // Signed with other keys: a header of ours that the library does not write must not be right.
  const drafts = signedByKit(oracle, provider, otherKeys)
  if (oracle.fixtureOnly !== undefined) return drafts
  const awkward = drafts.flatMap((draft) =>
    TEXTS.map((text) => ({ ...draft, body: addNote(draft.body, text) })),
  )
  return [...drafts, ...awkward]
}

/** Well-formed text only: the libraries turn a body into a string, and we never do. */
const TEXTS = [
  'Zoë 株式会社',
  ...fc.sample(fc.string({ unit: 'grapheme', minLength: 1 }), { seed: 76, numRuns: 8 }),
]

/** A member more, in bytes that no formatter would write. */
function addNote(body: string, text: string): string {
  return body.replace(/^\{/, () => `{ "note" : ${JSON.stringify(`${text}.`)},\r\n\t"n":1.0,`)
}

function signedByKit(
  { types }: SdkOracle,
  provider: Provider<object>,
  { secret, privateKey, publicUrl }: OracleKeys,
): readonly OracleRequest[] {
  const { events, freshKey = () => `evt_${randomUUID()}` } = requireFixture(provider)
  const usesSecret = provider.definition.verify.optionNames.includes('secrets')
  const credentials = usesSecret ? { secret, publicUrl } : { privateKey, publicUrl }
  return (types ?? Object.keys(events)).map((type) => {
    const key = freshKey()
    const at = now()
    const signed = sign(provider, { type, key, at, url: '/in/source' }, credentials)
    const { method, url, headers, body } = signed
    return {
      method,
      url,
      headers: headers as Record<string, string>,
      body: Buffer.from(body).toString('utf8'),
      at,
      key,
    }
  })
}

/** A whole second that has passed: some libraries refuse what is a millisecond ahead. */
function now(): Date {
  return new Date(Math.floor(Date.now() / 1000) * 1000 - 1000)
}

function tamper({ tamper: spoil }: SdkOracle, request: OracleRequest): OracleRequest {
  const body = spoil?.(request.body) ?? spoilFirstValue(request.body)
  if (body === request.body) throw new Error('nothing was changed')
  return { ...request, body }
}

/** Still JSON, or still a form: what is refused is the signature and not the syntax. */
function spoilFirstValue(body: string): string {
  const change = (_: string, before: string, at: string) => before + (at === 'x' ? 'y' : 'x')
  return /^[[{]/.test(body)
    ? body.replace(/(:\s*"(?:[^"\\]|\\.)*)([^"\\])(?=")/, change)
    : body.replace(/(=)(.)/, change)
}

function deliveryOf({ method, url, headers, body }: OracleRequest): Delivery {
  return { method, url, headers, body: Buffer.from(body, 'utf8'), receivedAt: new Date() }
}
