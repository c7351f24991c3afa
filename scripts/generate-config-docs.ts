/**
 * Writes the reference of a gateway's config from what checks it, and the JSON Schema for editors.
 *
 *     npm run generate:config
 *
 * @module
 */

import fs from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { toVariable } from '../src/gateway/config/environment.ts'
import { configJsonSchema } from '../src/gateway/config/schema.ts'

const ROOT = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '..')

interface Node {
  readonly type?: string | readonly string[]
  readonly description?: string
  readonly default?: unknown
  readonly const?: unknown
  readonly enum?: readonly unknown[]
  readonly anyOf?: readonly Node[]
  readonly items?: Node
  readonly properties?: Readonly<Record<string, Node>>
  readonly required?: readonly string[]
  readonly additionalProperties?: Node | boolean
}

/** The files and what they should say. */
export function generateConfigDocs(): Readonly<Record<string, string>> {
  const schema = configJsonSchema() as Node
  return {
    'docs/reference/config.schema.json': `${JSON.stringify(schema, undefined, 2)}\n`,
    'docs/reference/configuration.md': writePage(schema),
  }
}

function writePage(schema: Node): string {
  const sections = listSections('', schema)
  return [
    '# Configuration',
    '',
    'Everything that a [gateway](../gateway.md) can be told. This page is made from what checks a config, by `npm run generate:config`; [config.schema.json](config.schema.json) is the same for editors.',
    '',
    ...sections.flatMap(({ name, node }) => [
      `## ${name === '' ? 'At the top' : `\`${name}\``}`,
      '',
      ...(node.description === undefined || name === '' ? [] : [node.description, '']),
      ...writeTable(name, node),
      '',
    ]),
  ].join('\n')
}

interface Section {
  readonly name: string
  readonly node: Node
}

/** An object has a section; what is in it and is an object has one of its own. */
function listSections(name: string, node: Node): readonly Section[] {
  const below = Object.entries(node.properties ?? {}).flatMap(([key, member]) =>
    listSections(name === '' ? key : `${name}.${key}`, findObject(member) ?? {}),
  )
  const members =
    typeof node.additionalProperties === 'object' && node.properties === undefined
      ? listSections(`${name}.<name>`, node.additionalProperties)
      : []
  return [...(node.properties === undefined ? [] : [{ name, node }]), ...below, ...members]
}

/** What has members: the node itself, what is in its list, or one of the ways to write it. */
function findObject(node: Node): Node | undefined {
  if (node.properties !== undefined || typeof node.additionalProperties === 'object') return node
  if (node.items !== undefined) return findObject(node.items)
  return node.anyOf?.map(findObject).find((each) => each !== undefined)
}

function writeTable(name: string, { properties = {}, required = [] }: Node): readonly string[] {
  const rows = Object.entries(properties).map(([key, node]) => [
    `\`${key}\``,
    describeType(node),
    required.includes(key) ? 'needed' : describeDefault(node),
    node.description ?? '',
  ])
  const isInEnvironment = !name.includes('forward') && !name.includes('secrets')
  const head = ['setting', 'type', 'default', 'meaning']
  const prefix = name === '' ? '' : `${name.split('.').map(toWord).join('__')}__`
  const variable = isInEnvironment
    ? [
        '',
        `In the environment: \`HOOKONCE_${prefix}${toVariable(Object.keys(properties)[0] ?? '')}\`, and so on.`,
      ]
    : []
  return [
    `| ${head.join(' | ')} |`,
    `| ${head.map(() => '---').join(' | ')} |`,
    ...rows.map((row) => `| ${row.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`),
    ...variable,
  ]
}

function toWord(key: string): string {
  return key === '<name>' ? '<NAME>' : toVariable(key)
}

function describeType(node: Node): string {
  if (node.anyOf !== undefined)
    return [...new Set(node.anyOf.map(describeType))].filter((text) => text !== '').join(' or ')
  if (node.const !== undefined) return `\`${JSON.stringify(node.const)}\``
  if (node.enum !== undefined)
    return node.enum.map((each) => `\`${JSON.stringify(each)}\``).join(', ')
  if (node.type === 'array') return `list of ${describeType(node.items ?? {}) || 'anything'}`
  if (Array.isArray(node.type)) return node.type.join(' or ')
  return typeof node.type === 'string' ? node.type : ''
}

function describeDefault({ default: value }: Node): string {
  const isEmpty = typeof value === 'object' && JSON.stringify(value) === '{}'
  return value === undefined || isEmpty ? '' : `\`${JSON.stringify(value)}\``
}

async function main(): Promise<void> {
  const { format, resolveConfig } = await import('prettier')
  for (const [file, text] of Object.entries(generateConfigDocs())) {
    const target = path.join(ROOT, file)
    const options = { ...(await resolveConfig(target)), filepath: target }
    fs.writeFileSync(target, await format(text, options))
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await main()
