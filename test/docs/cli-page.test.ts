import { readFileSync } from 'node:fs'
import { format, resolveConfig } from 'prettier'
import { expect, test } from 'vitest'
import { generateCliDocs } from '../../scripts/generate-cli-docs.ts'

test.each(Object.entries(generateCliDocs()))(
  '%s says what the commands say of themselves (npm run generate:cli)',
  async (file, text) => {
    const options = { ...(await resolveConfig(file)), filepath: file }

    expect(readFileSync(file, 'utf8')).toBe(await format(text, options))
  },
)
