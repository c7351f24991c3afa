/**
 * Writes a page for each provider, and the table of all of them, from their declarations and notes.
 *
 *     npx tsx scripts/generate-provider-docs.ts [--check]
 *
 * @module
 */

import fs from 'node:fs'
import path from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import prettier from 'prettier'
import { sameBytesOf } from '../src/providers/define-provider.ts'
import * as exported from '../src/providers/index.ts'
import type {
  Place,
  Provider,
  ProviderDefinition,
  SignatureSpec,
  Verification,
} from '../src/providers/index.ts'
import { camelCase } from './generate-provider-indexes.ts'
import type { GeneratedFile } from './generate-provider-indexes.ts'
import type { ProviderNotes } from '../docs/provider-notes/notes.ts'

const ROOT = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '..')

interface Documented {
  readonly definition: ProviderDefinition
  readonly notes: ProviderNotes
}

export async function generateDocs(): Promise<readonly GeneratedFile[]> {
  const all: Documented[] = []
  for (const definition of listDefinitions()) {
    all.push({ definition, notes: await readNotes(definition) })
  }
  all.sort((a, b) => a.notes.name.localeCompare(b.notes.name, 'en'))
  const pages = all.map((one) => ({ file: pageOf(one.definition), text: writePage(one) }))
  const files = [{ file: 'docs/providers/README.md', text: writeTable(all) }, ...pages]
  const options = await prettier.resolveConfig(path.join(ROOT, 'docs/providers/README.md'))
  return Promise.all(
    files.map(async ({ file, text }) => ({
      file,
      text: await prettier.format(text, { ...options, parser: 'markdown' }),
    })),
  )
}

function listDefinitions(): readonly ProviderDefinition[] {
  return Object.values(exported)
    .filter((value): value is typeof exported.stripe => 'definition' in value)
    .map((provider: Pick<Provider<never>, 'definition'>) => provider.definition)
}

async function readNotes({ provider }: ProviderDefinition): Promise<ProviderNotes> {
  const file = path.join(ROOT, 'docs/provider-notes', `${dashed(provider)}.ts`)
  const module = (await import(pathToFileURL(file).href)) as { NOTES: ProviderNotes }
  return module.NOTES
}

function dashed(slug: string): string {
  return slug.replaceAll('_', '-')
}

function pageOf({ provider }: ProviderDefinition): string {
  return `docs/providers/${dashed(provider)}.md`
}

function writeTable(all: readonly Documented[]): string {
  const rows = all.map(({ definition, notes }) => {
    const link = `[${notes.name}](${dashed(definition.provider)}.md)`
    const cells = [
      link,
      `\`${camelCase(definition.provider)}\``,
      definition.verify.summary,
      notes.key ?? describePlace(definition.key),
      writeWindow(definition.retryWindowHours),
    ]
    return `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`
  })
  return `# Providers

Ready-made sources, from \`hookonce/providers\`. Each page says what is verified, what an event is known by, and what goes wrong. A sender that is not here: [\`hmac\`](../guides/sources.md#any-other-sender-hmac), or [a provider of your own](../guides/own-provider.md).

This page and those it links to are written by \`scripts/generate-provider-docs.ts\`.

| provider | function | verified by | an event is known by | retries for |
| --- | --- | --- | --- | --- |
${rows.join('\n')}
`
}

function writePage({ definition, notes }: Documented): string {
  const { verify } = definition
  const rules = [definition.handshake ?? []].flat()
  return `# ${notes.name}

\`\`\`ts
${writeExample(definition, notes)}
\`\`\`

## Set it up

${notes.setUp.map((step, index) => `${index + 1}. ${step}`).join('\n')}

## What happens

| | |
| --- | --- |
${listFacts({ definition, notes })
  .map(([name, text]) => `| ${name} | ${text.replaceAll('|', '\\|')} |`)
  .join('\n')}

${
  rules.length === 0
    ? ''
    : `## Handshake

${rules.map(({ summary }) => `- ${summary.charAt(0).toUpperCase()}${summary.slice(1)}.`).join('\n')}

Nothing is stored for it.
`
}
## Options

| option | |
| --- | --- |
${[
  ...verify.optionNames
    .filter((name) => name !== 'toleranceSeconds' || verify.toleranceSeconds !== undefined)
    .map((name) => [name, OPTION_WORDS[name] ?? '']),
  ...Object.entries(definition.options ?? {}).map(([name, { summary }]) => [name, summary]),
]
  .map(([name, text]) => `| \`${name}\` | ${text} |`)
  .join('\n')}

Beside them the [options of every source](../guides/sources.md#options-of-every-source).

## Traps

${notes.traps.map((trap) => `- ${trap}`).join('\n')}
`
}

function listFacts({ definition, notes }: Documented): readonly (readonly [string, string])[] {
  const { verify } = definition
  const facts: (readonly [string, string | undefined])[] = [
    ['verified by', verify.summary],
    ['headers', describeHeaders([...new Set(verify.headers)])],
    ['time window', describeTolerance(verify)],
    ['event key', notes.key ?? describePlace(definition.key)],
    ['event type', notes.type ?? (definition.type && describePlace(definition.type))],
    [
      'several events in a delivery',
      definition.batch === undefined ? 'no' : 'yes, each is stored by itself',
    ],
    [
      'differs between retries',
      (definition.volatile ?? []).map((name) => `\`${name}\``).join(', '),
    ],
    ['not stored', (definition.unstored ?? []).map((name) => `\`${name}\``).join(', ')],
    ['known bytes under a new key', `\`'${sameBytesOf(definition)}'\``],
    ['methods', (definition.methods ?? []).join(', ')],
    ['largest body', describeLargestBody(definition.bodyBytesMax)],
    ['retries for', writeWindow(definition.retryWindowHours)],
    ['by hand, after that', writeManual(definition.manualRedeliveryHours)],
    [
      'waits for an answer',
      definition.timeoutSeconds ? `${definition.timeoutSeconds} s` : undefined,
    ],
  ]
  return facts.flatMap(([name, text]) => (text ? [[name, text] as const] : []))
}

const HEADERS_SHOWN_MAX = 12

function describeHeaders(names: readonly string[]): string {
  const quote = (some: readonly string[]) => some.map((name) => `\`${name}\``).join(', ')
  if (names.length <= HEADERS_SHOWN_MAX) return quote(names)
  return `${quote(names.slice(0, 2))} … ${quote(names.slice(-1))}`
}

function describeTolerance({ toleranceSeconds, spec }: Verification): string | undefined {
  if (toleranceSeconds === undefined) return undefined
  const { timestamp } = (spec ?? {}) as Partial<SignatureSpec>
  const outside = timestamp?.outside === 'quarantine' ? 'quarantined' : 'refused'
  return `${toleranceSeconds} s; what is outside of it is ${outside}`
}

function describeLargestBody(bytes: number | undefined): string | undefined {
  if (bytes === undefined) return undefined
  return `${bytes / 1_048_576} MiB, unless \`bodyBytesMax\` says otherwise`
}

/** A place in words. */
export function describePlace(place: Place): string {
  if (typeof place === 'function') return 'see above'
  if (typeof place === 'string')
    return `\`${place.replace(/^(?:json|root):\$\.?/, '').replace(/^\w+:/, '')}\``
  if (isList(place)) return place.map(describePlace).join(', else ')
  if ('all' in place) {
    return place.all
      .map((part) =>
        typeof part === 'object' && 'optional' in part
          ? `${describePlace(part.optional)} (if there)`
          : describePlace(part),
      )
      .join(' + ')
  }
  return place.join.map(describePlace).join(` ${place.with} `)
}

function isList(place: Place): place is readonly Place[] {
  return Array.isArray(place)
}

function writeWindow(hours: number | null): string {
  if (hours === null) return 'unknown (reckoned with 72 h)'
  if (hours === 0) return 'does not retry'
  return hours < 1 ? `${Math.max(1, Math.round(hours * 60))} min` : `${hours} h`
}

/** Keys are kept for both together: `retention/options.ts`. */
function writeManual(hours: number | undefined): string {
  if (hours === undefined) return 'unknown (reckoned with 72 h)'
  return hours === 0 ? 'it cannot be asked to' : `${hours} h`
}

const OPTION_WORDS: Readonly<Record<string, string>> = {
  secrets:
    'the secrets, all of which are tried; see [rotation](../guides/sources.md#secrets-and-rotation)',
  publicKey: 'the provider’s public key, or several',
  publicUrl: 'the URL that the provider calls, byte for byte',
  certificate:
    'the provider’s certificate as PEM; left out, it is fetched from the provider’s host',
  certificateRoots: 'roots at which a fetched certificate’s chain must end',
  fetch:
    'what fetches certificates or keys, for a network that needs a proxy; left out, a GET over TLS',
  jwk: 'the provider’s public keys as JSON Web Keys',
  fetchKey: 'gets a key by its id',
  toleranceSeconds: 'how old a delivery may be, and how far ahead of our clock',
  username: 'the user of the basic authentication',
  password: 'its password',
}

function writeExample({ provider, verify }: ProviderDefinition, notes: ProviderNotes): string {
  const name = camelCase(provider)
  const variable = provider.toUpperCase()
  const needed = [
    verify.optionNames.includes('secrets') && `secrets: [process.env['${variable}_SECRET'] ?? ''],`,
    verify.optionNames.includes('publicKey') &&
      !verify.optionNames.includes('secrets') &&
      `publicKey: process.env['${variable}_PUBLIC_KEY'] ?? '',`,
    verify.optionNames.includes('publicUrl') &&
      notes.publicUrlIsOptional !== true &&
      `publicUrl: 'https://example.com/in/${name.toLowerCase()}',`,
    notes.exampleOptions,
  ].filter((line) => typeof line === 'string')
  return `import { ${name} } from 'hookonce/providers'

export const source = ${name}({
  ${needed.join('\n  ')}
})`
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const isCheck = process.argv.includes('--check')
  let staleCount = 0
  for (const { file, text } of await generateDocs()) {
    const target = path.join(ROOT, file)
    if (fs.existsSync(target) && fs.readFileSync(target, 'utf8') === text) continue
    staleCount += 1
    if (!isCheck) fs.writeFileSync(target, text)
    console.log(isCheck ? `${file} is not up to date` : `wrote ${file}`)
  }
  if (isCheck && staleCount > 0) process.exitCode = 1
}
