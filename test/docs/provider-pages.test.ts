import fs from 'node:fs'
import path from 'node:path'
import { expect, test } from 'vitest'
import { generateDocs } from '../../scripts/generate-provider-docs.ts'
import { ROOT } from './markdown.ts'

test('the providers’ pages say what their declarations say', async () => {
  const pages = await generateDocs()
  const stale = pages.filter(
    ({ file, text }) =>
      !fs.existsSync(path.join(ROOT, file)) ||
      fs.readFileSync(path.join(ROOT, file), 'utf8') !== text,
  )

  expect(stale.map(({ file }) => file)).toEqual([])
  expect(fs.readdirSync(path.join(ROOT, 'docs/providers')).sort()).toEqual(
    pages.map(({ file }) => path.basename(file)).sort(),
  )
})
