import { describe, expect, test } from 'vitest'
import { attemptMessage } from '../../src/outbox/attempt.ts'
import { destination } from '../../src/outbox/destination.ts'
import type { DestinationOptions } from '../../src/outbox/options.ts'
import type { ClaimedMessage } from '../../src/store/contract/messages.ts'
import { aClaimedMessage } from '../support/claimed-message.ts'

describe('a message whose relays were killed', () => {
  test.each([
    [{ attempt: 2, takeovers: 0 }, 'ready'],
    [{ attempt: 3, takeovers: 0 }, 'dead'],
    [{ attempt: 4, takeovers: 2 }, 'ready'],
    [{ attempt: 5, takeovers: 2 }, 'dead'],
  ] as const)('has all of its attempts: after %o it is %s', async (counts, state) => {
    const { settlement } = await attempt(counts, { retry: { attemptsMax: 3 } })

    expect(settlement.state).toBe(state)
  })

  test('waits as long as after the attempts that failed', async () => {
    const retry = { attemptsMax: 100, firstMs: 10, factor: 10, maxMs: 1_000_000 }
    const { settlement } = await attempt({ attempt: 6, takeovers: 4 }, { retry })

    const { retryInMs } = settlement as { retryInMs: number }
    expect(Math.abs(retryInMs - 100)).toBeLessThanOrEqual(20)
  })

  test.each<readonly [string, DestinationOptions]>([
    ['honoured', {}],
    ['ignored and it is sent again', { keys: 'ignored', onUncertain: 'resend' }],
    [
      'ignored and it is looked for',
      { keys: 'ignored', onUncertain: 'check', check: async () => 'absent' },
    ],
  ])(
    'more than 20 times is unknown, and is not sent again where keys are %s',
    async (_where, options) => {
      const twenty = await attempt({ attempt: 21, takeovers: 20, uncertainForMs: 0 }, options)
      const more = await attempt({ attempt: 22, takeovers: 21, uncertainForMs: 0 }, options)

      expect(twenty.sent).toBe(1)
      expect(more.sent).toBe(0)
      expect(more.settlement).toMatchObject({
        state: 'unknown',
        reason: 'it may have arrived, and more than 20 relays died while they held it',
        failure: undefined,
      })
    },
  )
})

/** An attempt at a destination that is not there. */
async function attempt(claimed: Partial<ClaimedMessage>, options: DestinationOptions) {
  let sent = 0
  const sink = destination('sink', options, () => {
    sent += 1
    throw new Error('the service is away')
  })
  const context = {
    sinceClaimMs: () => 0,
    signal: new AbortController().signal,
    onResend: () => undefined,
  }
  const { settlement } = await attemptMessage(context, sink, aClaimedMessage(claimed))
  return { settlement, sent }
}
