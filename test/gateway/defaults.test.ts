import { expect, test } from 'vitest'
import { configSchema } from '../../src/gateway/config/schema.ts'
import { EGRESS_DEFAULTS } from '../../src/egress/options.ts'
import { RETRY_DEFAULTS } from '../../src/model/retry-policy.ts'
import { DESTINATION_DEFAULTS, RELAY_DEFAULTS } from '../../src/outbox/options.ts'
import { RECEIVE_DEFAULTS } from '../../src/receive/options.ts'
import { RETENTION_DEFAULTS } from '../../src/retention/options.ts'
import { WORKER_DEFAULTS } from '../../src/work/options.ts'

test('a config has the defaults of the library', () => {
  const { receive, worker, handlerDefaults, relay, retention, destinations } = configSchema.parse({
    destinations: { app: { url: 'https://example.com/' } },
  })
  const { retry, ...destination } = destinations['app']!

  expect(receive).toMatchObject(RECEIVE_DEFAULTS)
  expect(WORKER_DEFAULTS).toMatchObject(worker)
  expect(handlerDefaults.retry).toEqual(RETRY_DEFAULTS)
  expect(retention).toEqual(RETENTION_DEFAULTS)
  expect(RELAY_DEFAULTS).toMatchObject(relay)
  expect(retry).toEqual(RETRY_DEFAULTS)
  const { url: _url, allowPrivate: _private, unsigned: _signed, ...options } = destination
  const { idleTimeoutMs, ...others } = options
  expect(DESTINATION_DEFAULTS).toMatchObject(others)
  expect(idleTimeoutMs).toBe(EGRESS_DEFAULTS.idleTimeoutMs)
})
