/**
 * Writes the admin API in OpenAPI 3.1, from the table of its routes.
 *
 *     npm run generate:openapi
 *
 * @module
 */

import fs from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { describeApi } from '../src/gateway/admin/openapi.ts'

const ROOT = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '..')

/** The file and what it should say. */
export function generateOpenApi(): Readonly<Record<string, string>> {
  const file = path.join(ROOT, 'docs/reference/openapi.json')
  return { [file]: `${JSON.stringify(describeApi(), undefined, 2)}\n` }
}

async function main(): Promise<void> {
  const { format, resolveConfig } = await import('prettier')
  for (const [file, text] of Object.entries(generateOpenApi())) {
    const options = { ...(await resolveConfig(file)), filepath: file }
    fs.writeFileSync(file, await format(text, options))
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await main()
