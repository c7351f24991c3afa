import { mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { createLogger } from '../../src/gateway/create-logger.ts'

const CANARY = 'a-canary-that-no-line-may-have'

test.each([
  'authorization',
  'cookie',
  'set-cookie',
  'secret',
  'secrets',
  'token',
  'password',
  'apiKey',
  'api_key',
])(
  'D09: what a transform logs under the name %s is not in the log, at the top and below',
  async (name) => {
    const folder = mkdtempSync(join(tmpdir(), 'hookonce-log-'))
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
    const file = join(folder, 'log')
    const logger = createLogger({ level: 'info' }, openSync(file, 'a'))
    const secret = { [name]: CANARY, kept: 'seen' }

    logger.info(secret, 'at the top')
    logger.info({ headers: secret }, 'one below')
    logger.info({ request: { headers: secret } }, 'two below')
    logger.info({ event: { request: { headers: secret } } }, 'three below')
    logger.info({ [name]: [CANARY, { deep: CANARY }] }, 'a list')

    await expect.poll(() => readFileSync(file, 'utf8').split('\n')).toHaveLength(6)
    const text = readFileSync(file, 'utf8')
    expect(text).not.toContain(CANARY)
    expect(text.match(/\[Redacted\]/g)).toHaveLength(5)
    expect(text.match(/seen/g)).toHaveLength(4)
  },
)
