import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { describe, expect, inject, onTestFinished, test } from 'vitest'
import { createRemoteOperator } from '../../src/gateway/admin/remote-operator.ts'
import { bulkActionsContract } from '../inbox/bulk-actions.ts'
import { bulkMessagesContract } from '../inbox/bulk-messages.ts'
import { collectingStatsContract } from '../inbox/collecting-stats.ts'
import { findingEventsContract } from '../inbox/finding-events.ts'
import { forgetContract } from '../inbox/forget.ts'
import { groupingErrorsContract } from '../inbox/grouping-errors.ts'
import { messageActionsContract } from '../inbox/message-actions.ts'
import { operatorsContract } from '../inbox/operators.ts'
import { outboxContract } from '../inbox/outbox.ts'
import { pausesContract } from '../inbox/pauses.ts'
import { replayContract } from '../inbox/replay.ts'
import { retentionContract } from '../inbox/retention.ts'
import { secretsContract } from '../inbox/secrets.ts'
import { showingEventsContract } from '../inbox/showing-events.ts'
import { stepRulesContract } from '../inbox/step-rules.ts'
import { stepsContract } from '../inbox/steps.ts'
import { unfinishedContract } from '../inbox/unfinished.ts'
import { postgresUnderTest } from '../support/postgres/postgres-under-test.ts'
import { sqliteUnderTest } from '../support/sqlite-under-test.ts'
import { throughGateway } from '../support/through-gateway.ts'

const sqlite = throughGateway(sqliteUnderTest('libsql'))

operatorsContract(sqlite)
findingEventsContract(sqlite)
showingEventsContract(sqlite)
groupingErrorsContract(sqlite)
collectingStatsContract(sqlite)
bulkActionsContract(sqlite)
bulkMessagesContract(sqlite)
replayContract(sqlite)
forgetContract(sqlite)
messageActionsContract(sqlite)
outboxContract(sqlite)
stepsContract(sqlite)
stepRulesContract(sqlite)
retentionContract(sqlite)
pausesContract(sqlite)
secretsContract(sqlite)
unfinishedContract(sqlite)

const shared = inject('postgres')

describe.skipIf(shared === null)('PostgreSQL', () => {
  if (shared === null) return
  const postgres = throughGateway(postgresUnderTest('PostgreSQL', () => shared))
  replayContract(postgres)
  showingEventsContract(postgres)
  messageActionsContract(postgres)
  retentionContract(postgres)
})

describe('a remote operator', () => {
  test.each([
    [{ url: 'gateway:4401' }, 'createRemoteOperator.url'],
    [{ url: 'ftp://localhost' }, 'createRemoteOperator.url'],
    [{ url: 'http://localhost', token: 'two words' }, 'createRemoteOperator.token'],
    [{ url: 'http://localhost', tokn: 'x' }, 'createRemoteOperator.tokn'],
  ])('is not made of %j', (options, option) => {
    expect(() => createRemoteOperator(options)).toThrow(expect.objectContaining({ option }))
  })

  test('says that what answers is no gateway, whatever it answers', async () => {
    const server = createServer((_request, response) => {
      response.setHeader('content-type', 'text/html')
      response.end('<h1>Log in</h1>')
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    onTestFinished(() => void server.close())
    const { port } = server.address() as AddressInfo
    await using operator = createRemoteOperator({ url: `http://127.0.0.1:${port}` })

    await expect(operator.stats()).rejects.toMatchObject({
      code: 'GATEWAY_UNAVAILABLE',
      message: expect.stringContaining('answered 200, and not as the admin API') as string,
    })
  })

  test('says that the gateway does not answer, and that it can be tried again', async () => {
    // The port is that of a protocol that refuses: no listener of this machine has it.
    await using operator = createRemoteOperator({ url: 'http://127.0.0.1:1' })

    await expect(operator.stats()).rejects.toMatchObject({
      code: 'GATEWAY_UNAVAILABLE',
      retryable: true,
    })
  })
})
