import { afterEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { HappeningEmitter } from '../../src/telemetry/emitter.ts'
import { escapeText } from '../../src/telemetry/escape-text.ts'
import { consoleLogger, HAPPENING_LEVELS, logHappenings } from '../../src/telemetry/logger.ts'
import type { LogFields, Logger } from '../../src/telemetry/logger.ts'

afterEach(() => vi.restoreAllMocks())

function collect(): {
  logger: Logger
  lines: { level: string; fields: LogFields; message: string }[]
} {
  const lines: { level: string; fields: LogFields; message: string }[] = []
  const at = (level: string) => (fields: LogFields, message: string) =>
    void lines.push({ level, fields, message })
  return {
    lines,
    logger: { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') },
  }
}

describe('happenings', () => {
  test('a listener that throws harms no other listener and not the caller', () => {
    const emitter = new HappeningEmitter()
    const heard: string[] = []
    emitter.on('worker.stopped', () => {
      throw new Error('a bug in a listener')
    })
    emitter.on('worker.stopped', ({ workerId }) => void heard.push(workerId))

    emitter.emit('worker.stopped', { workerId: 'w1' })

    expect(heard).toEqual(['w1'])
  })

  test('a listener that rejects harms nothing: the process goes on', async () => {
    const rejected: unknown[] = []
    const note = (reason: unknown) => void rejected.push(reason)
    process.on('unhandledRejection', note)
    onTestFinished(() => void process.off('unhandledRejection', note))
    const emitter = new HappeningEmitter()
    // As an async function, which the types of a listener let through for most people.
    const fail = (() => Promise.reject(new Error('the pager is down'))) as () => void
    emitter.on('worker.stopped', fail)
    emitter.onAny(fail)

    emitter.emit('worker.stopped', { workerId: 'w1' })

    // Node tells of such a rejection before the next turn of the event loop.
    await new Promise((resolve) => setImmediate(resolve))
    expect(rejected).toEqual([])
  })

  test('a listener that stopped hears nothing', () => {
    const emitter = new HappeningEmitter()
    const heard: string[] = []
    const stop = emitter.onAny((name) => void heard.push(name))
    emitter.emit('worker.stopped', { workerId: 'w1' })

    stop()
    emitter.emit('worker.stopped', { workerId: 'w1' })

    expect(heard).toEqual(['worker.stopped'])
  })

  test('each happening is a line at its level, with its name and fields', () => {
    const emitter = new HappeningEmitter()
    const { logger, lines } = collect()
    logHappenings(emitter, logger)

    emitter.emit('event.dead', {
      eventId: 'e1',
      source: 'stripe',
      key: 'evt_1',
      type: 'a',
      attempt: 3,
      reason: 'no',
      handler: 'pay',
      error: new TypeError('boom', { cause: new Error('the reason') }),
    })

    expect(lines).toEqual([
      {
        level: 'error',
        message: 'event.dead',
        fields: {
          happening: 'event.dead',
          eventId: 'e1',
          source: 'stripe',
          key: 'evt_1',
          type: 'a',
          attempt: 3,
          reason: 'no',
          handler: 'pay',
          error: {
            name: 'TypeError',
            message: 'boom',
            stack: expect.stringContaining('logger.test.ts') as string,
            cause: {
              name: 'Error',
              message: 'the reason',
              stack: expect.stringContaining('logger.test.ts') as string,
            },
          },
        },
      },
    ])
  })

  test('of duplicates the first is a line at once, and then one a minute, with the count', () => {
    vi.useFakeTimers()
    onTestFinished(() => void vi.useRealTimers())
    const emitter = new HappeningEmitter()
    const { logger, lines } = collect()
    const stop = logHappenings(emitter, logger)
    const deliver = (source: string, key: string) =>
      emitter.emit('delivery.duplicate', { source, key, eventId: 'e', type: 'a', from: 'store' })
    const seen = () =>
      lines.splice(0).map(({ level, fields }) => {
        expect(level).toBe('warn')
        return `${String(fields['source'])} ${String(fields['key'])} ${String(fields['count'])}`
      })

    deliver('stripe', 'evt_1')
    expect(seen()).toEqual(['stripe evt_1 1'])
    for (let n = 2; n <= 500; n += 1) deliver('stripe', `evt_${n}`)
    deliver('github', 'a')
    expect(seen()).toEqual(['github a 1'])
    vi.advanceTimersByTime(60_000)
    expect(seen()).toEqual(['stripe evt_500 499'])

    // A minute without any ends it.
    vi.advanceTimersByTime(60_000)
    deliver('stripe', 'evt_501')
    expect(seen()).toEqual(['stripe evt_501 1'])
    deliver('stripe', 'evt_502')
    stop()
    expect(seen()).toEqual(['stripe evt_502 1'])
    expect(vi.getTimerCount()).toBe(0)
  })

  test('what a database puts into the detail of its errors is not logged', () => {
    const emitter = new HappeningEmitter()
    const { logger, lines } = collect()
    logHappenings(emitter, logger)

    const error = Object.assign(new Error('duplicate key'), {
      code: '23505',
      detail: 'Key (email)=(canary@example.com)',
    })
    emitter.emit('delivery.unavailable', { source: 'stripe', error })

    expect(JSON.stringify(lines)).not.toContain('canary')
    expect(JSON.stringify(lines)).toContain('23505')
  })

  test('a flood of forged deliveries does not become a flood of lines', () => {
    const emitter = new HappeningEmitter()
    const { logger, lines } = collect()
    logHappenings(emitter, logger)

    for (let i = 0; i < 10_000; i += 1)
      emitter.emit('delivery.refused', { source: 'stripe', reason: 'bad-signature' })

    expect(lines.length).toBeGreaterThan(0)
    expect(lines.length).toBeLessThan(1_000)
  })

  test('the console gets warnings and errors, as one JSON object a line', () => {
    const warn = vi.spyOn(console, 'warn').mockImplementation(() => undefined)
    const info = vi.spyOn(console, 'info').mockImplementation(() => undefined)
    const logger = consoleLogger()

    logger.info({}, 'not written')
    logger.warn({ key: 'evt_\u001b[31m\n\u202e' }, 'written')

    expect(info).not.toHaveBeenCalled()
    const line = String(warn.mock.calls[0]?.[0])
    expect(line).toBe(escapeText(line))
    expect(JSON.parse(line)).toMatchObject({
      level: 'warn',
      message: 'written',
      key: 'evt_\u001b[31m\n\u202e',
    })
  })

  test('fields that JSON cannot write do not throw', () => {
    const warn = vi.spyOn(console, 'warn').mockImplementation(() => undefined)
    const circular: Record<string, unknown> = {}
    circular['self'] = circular

    consoleLogger().warn({ big: 10n }, 'big')
    consoleLogger().warn({ circular }, 'circular')

    expect(warn.mock.calls.map(([line]) => JSON.parse(String(line)) as object)).toMatchObject([
      { message: 'big', big: '10' },
      { message: 'circular' },
    ])
  })

  test('every level is one a logger has', () => {
    expect(new Set(Object.values(HAPPENING_LEVELS))).toEqual(
      new Set(['debug', 'info', 'warn', 'error']),
    )
  })
})

describe('text of a sender', () => {
  test.each([
    ['\u001b]0;title\u0007', '\\u001b]0;title\\u0007'],
    ['a\r\nb', 'a\\u000d\\u000ab'],
    ['\u009b31m', '\\u009b31m'],
    ['\u202egnp.exe', '\\u202egnp.exe'],
    ['plain é 🎉', 'plain é 🎉'],
  ])('%j is shown as %s', (text, shown) => {
    expect(escapeText(text)).toBe(shown)
  })
})
