import { readFileSync } from 'node:fs'
import { format, resolveConfig } from 'prettier'
import { expect, test } from 'vitest'
import { generateConfigDocs } from '../../scripts/generate-config-docs.ts'

test.each(Object.entries(generateConfigDocs()))(
  '%s says what checks a config (npm run generate:config)',
  async (file, text) => {
    const options = { ...(await resolveConfig(file)), filepath: file }

    expect(readFileSync(file, 'utf8')).toBe(await format(text, options))
  },
)
