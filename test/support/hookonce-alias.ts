import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const ROOT = new URL('../../', import.meta.url)

interface Config {
  readonly compilerOptions: { readonly paths: Readonly<Record<string, readonly [string]>> }
}

/** Lets `hookonce` and each of its entries be the source, for tests that import them as a user does. */
export function listAliases(): { readonly find: RegExp; readonly replacement: string }[] {
  const { compilerOptions } = JSON.parse(
    readFileSync(new URL('tsconfig.json', ROOT), 'utf8'),
  ) as Config
  return Object.entries(compilerOptions.paths).map(([entry, [source]]) => ({
    find: new RegExp(`^${entry}$`),
    replacement: fileURLToPath(new URL(source, ROOT)),
  }))
}
