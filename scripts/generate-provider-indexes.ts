/**
 * Writes the lists of providers: `src/providers/vendors/index.ts` and `src/testing/fixtures/index.ts`. One
 * file for each provider is all there is to write; this finds them.
 *
 *     npx tsx scripts/generate-provider-indexes.ts [--check]
 *
 * @module
 */

import fs from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'

const ROOT = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '..')

export interface GeneratedFile {
  readonly file: string
  readonly text: string
}

/** What the two lists should say. */
export function generateIndexes(root = ROOT): readonly GeneratedFile[] {
  const vendors = listFiles(root, 'src/providers/vendors').filter((name) => declares(root, name))
  const fixtures = listFiles(root, 'src/testing/fixtures').filter((name) => name !== 'index')
  return [
    {
      file: 'src/providers/vendors/index.ts',
      text: `/** Every provider. Written by scripts/generate-provider-indexes.ts. */\n\n${vendors
        .map((name) => `export * from './${name}.ts'\n`)
        .join('')}`,
    },
    {
      file: 'src/testing/fixtures/index.ts',
      text: writeFixtures(fixtures),
    },
  ]
}

/** `aws-sns` as `awsSns`. */
export function camelCase(name: string): string {
  return name.replace(/[-_]([a-z0-9])/g, (_, letter: string) => letter.toUpperCase())
}

function writeFixtures(names: readonly string[]): string {
  const imports = names.map((name) => `import { ${camelCase(name)}Fixture } from './${name}.ts'\n`)
  const members = names.map((name) => `  ${camelCase(name)}: ${camelCase(name)}Fixture,\n`)
  return (
    '/** Every provider’s fixture. Written by scripts/generate-provider-indexes.ts. */\n\n' +
    `${imports.join('')}\nexport const FIXTURES = {\n${members.join('')}} as const\n`
  )
}

function listFiles(root: string, folder: string): readonly string[] {
  return fs
    .readdirSync(path.join(root, folder))
    .filter((name) => name.endsWith('.ts'))
    .map((name) => name.slice(0, -3))
    .sort()
}

function declares(root: string, name: string): boolean {
  const text = fs.readFileSync(path.join(root, 'src/providers/vendors', `${name}.ts`), 'utf8')
  return /^export const \w+: Provider</m.test(text)
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const isCheck = process.argv.includes('--check')
  const stale = generateIndexes().filter(({ file, text }) => {
    const isStale =
      !fs.existsSync(path.join(ROOT, file)) ||
      fs.readFileSync(path.join(ROOT, file), 'utf8') !== text
    if (isStale && !isCheck) fs.writeFileSync(path.join(ROOT, file), text)
    return isStale
  })
  for (const { file } of stale) console.log(isCheck ? `${file} is not up to date` : `wrote ${file}`)
  if (isCheck && stale.length > 0) process.exitCode = 1
}
