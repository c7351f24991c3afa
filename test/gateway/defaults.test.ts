import { expect, test } from 'vitest'
import { configSchema } from '../../src/gateway/config/schema.ts'
import { RETRY_DEFAULTS } from '../../src/model/retry-policy.ts'
import { DESTINATION_DEFAULTS, RELAY_DEFAULTS } from '../../src/outbox/options.ts'
import { RETENTION_DEFAULTS } from '../../src/retention/options.ts'

test('a config has the defaults of the library', () => {
  const { relay, retention, destinations } = configSchema.parse({
    destinations: { app: { url: 'https://example.com/' } },
  })
  const { retry, ...destination } = destinations['app']!

  expect(RETENTION_DEFAULTS).toMatchObject(retention)
  expect(RELAY_DEFAULTS).toMatchObject(relay)
  expect(retry).toEqual(RETRY_DEFAULTS)
  const { concurrency, ratePerSecond, timeoutMs, breakerFailures, breakerMs, onDead } = destination
  expect(DESTINATION_DEFAULTS).toMatchObject({
    concurrency,
    ratePerSecond,
    timeoutMs,
    breakerFailures,
    breakerMs,
    onDead,
  })
})
