import { describe, expect, test } from 'vitest'
import { describeCauses, describeError, describeStack } from '../../src/telemetry/describe-error.ts'
import { redactText } from '../../src/telemetry/redact-text.ts'
import { measureCpuMs } from '../support/cpu-time.ts'

/** As Drizzle does it: the query is the message, and the reason is the cause alone. */
function failedQuery(): Error {
  const reason = Object.assign(new Error('duplicate key value violates unique constraint "one"'), {
    name: 'error',
    code: '23505',
    detail: 'Key (email)=(canary@example.com) already exists.',
  })
  return new Error('Failed query: insert into users values ($1)\nparams: canary@example.com', {
    cause: reason,
  })
}

describe('what is kept of an error', () => {
  test('has its name, message, code, place and causes', () => {
    const described = describeError(failedQuery())

    expect(described).toMatchObject({
      name: 'Error',
      message: expect.stringContaining('Failed query: insert into users') as string,
      stack: expect.stringContaining('describe-error.test.ts') as string,
      cause: {
        name: 'error',
        message: 'duplicate key value violates unique constraint "one"',
        code: '23505',
        stack: expect.stringContaining('failedQuery') as string,
      },
    })
  })

  test('S04: has no values of rows, which databases and ORMs put beside the reason', () => {
    const error = failedQuery()

    expect(JSON.stringify(describeError(error))).not.toContain('canary')
    expect(describeStack(error)).not.toContain('canary')
    expect(describeCauses(error)).not.toContain('canary')
  })

  test('names the causes, outermost first, a line each', () => {
    const root = Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' })
    const error = new Error('Cannot charge', {
      cause: new TypeError('fetch failed', { cause: root }),
    })

    expect(describeCauses(error)).toBe(
      'TypeError: fetch failed\nError: connect ECONNREFUSED (ECONNREFUSED)',
    )
    expect(describeCauses(new Error('alone'))).toBeUndefined()
  })

  test('names what several errors at once are about', () => {
    const both = new AggregateError([new Error('no route to ::1'), new Error('no route')], '')

    expect(describeCauses(new TypeError('fetch failed', { cause: both }))).toContain(
      'no route to ::1',
    )
  })

  test('shows where it and its causes were thrown, without the message again', () => {
    const stack = describeStack(failedQuery()) ?? ''

    expect(stack).toMatch(/^at /)
    expect(stack).toContain('Caused by error: duplicate key value')
    expect(stack).not.toContain('Failed query')
  })

  test('is bounded, however long, deep or circular it is', () => {
    let error = new Error('x'.repeat(100_000))
    for (let depth = 0; depth < 1_000; depth += 1)
      error = new Error('y'.repeat(10_000), { cause: error })
    error.stack = `Error: y\n${'    at deep (file.ts:1:1)\n'.repeat(50_000)}`
    const circular = new Error('circular')
    circular.cause = circular

    expect(JSON.stringify(describeError(error)).length).toBeLessThan(100_000)
    expect(describeStack(error)?.length).toBeLessThanOrEqual(8_192)
    expect(describeCauses(error)?.length).toBeLessThanOrEqual(8_192)
    expect(describeError(circular)).not.toHaveProperty('cause')
  })

  test.each<[string, () => Error]>([
    ['a stack that cannot be read', () => withGetter('stack')],
    ['a cause that cannot be read', () => withGetter('cause')],
    ['a code that cannot be read', () => withGetter('code')],
    ['a stack that is none', () => Object.assign(new Error('odd'), { stack: 7 })],
    ['a code that is an object', () => Object.assign(new Error('odd'), { code: { canary: 1 } })],
  ])('does without %s', (_what, make) => {
    expect(describeError(make())).toMatchObject({ name: 'Error', message: 'odd' })
    expect(JSON.stringify(describeError(make()))).not.toContain('canary')
  })

  test('of a cause that is no error has what an error would say of it, and not what is in it', () => {
    const cause = { config: { headers: { authorization: 'canary' } } }

    expect(describeCauses(new Error('odd', { cause }))).toContain('with config')
    expect(describeCauses(new Error('odd', { cause }))).not.toContain('canary')
    expect(describeCauses(new Error('odd', { cause: 'timed out' }))).toContain('timed out')
  })
})

function withGetter(name: string): Error {
  return Object.defineProperty(new Error('odd'), name, {
    get: () => {
      throw new Error('canary')
    },
  })
}

describe('a text that is kept', () => {
  test.each([
    [
      'postgres://app:canary@db.internal/app refused',
      'postgres://[redacted]@db.internal/app refused',
    ],
    ['redis://:canary@10.0.0.1:6379', 'redis://[redacted]@10.0.0.1:6379'],
    ['Authorization: Bearer canary.canary', 'Authorization: Bearer [redacted]'],
    ['sent Basic Y2FuYXJ5OmNhbmFyeQ== to it', 'sent Basic [redacted] to it'],
    ['no such key: whsec_canarycanarycanary', 'no such key: [redacted]'],
    ['Invalid API Key provided: sk_live_canary0123456789', 'Invalid API Key provided: [redacted]'],
    ['ghp_canary0123456789canary0123456789 has expired', '[redacted] has expired'],
    ['xoxb-canary-0123456789', '[redacted]'],
    ['GET /a?token=canary&page=2 failed', 'GET /a?token=[redacted]&page=2 failed'],
    ['{"password":"canary","user":"a"}', '{"password":"[redacted]","user":"a"}'],
    ['api_key: canary, retry', 'api_key: [redacted], retry'],
    ['eyJhbGciOiJIUzI1NiJ9.eyJjYW5hcnkiOjF9.canarycanary is not valid', '[redacted] is not valid'],
  ])('%j loses what looks like a secret', (text, kept) => {
    expect(redactText(text)).toBe(kept)
  })

  test.each([
    'duplicate key value violates unique constraint "users_email_key"',
    'The token of this event was not found',
    'https://example.com/a@b?page=2 answered 500',
    'relation "invoices" does not exist',
    'Unexpected token < in JSON at position 0',
    'a secret: it is out',
  ])('%j stays as it is', (text) => {
    expect(redactText(text)).toBe(text)
  })

  test('is read in a time that grows with its length, not with its square', async () => {
    const texts = [
      'token='.repeat(20_000),
      'https://'.repeat(20_000),
      'a:'.repeat(50_000),
      'eyJ'.repeat(50_000),
    ]
    const [hostileMs = 0, plainMs = 0] = await measureCpuMs(
      [
        () => texts.map((text) => redactText(text)),
        () => texts.map((text) => redactText('-'.repeat(text.length))),
      ],
      { rounds: 1 },
    )

    // A square would be a thousand times as long; below the floor the figures say more about the machine.
    expect(hostileMs).toBeLessThan(Math.max(2_000, 100 * plainMs))
  })
})
