import { describe, expect, test } from 'vitest'
import { StepLife } from '../../../src/work/steps/step-life.ts'

describe('the life of a run’s steps', () => {
  test('a failure of a step that the handler awaits is the handler’s', async () => {
    const life = new StepLife()

    await expect(life.track(Promise.reject(new Error('no')))).rejects.toThrow('no')

    await expect(life.finish()).resolves.toBeUndefined()
  })

  test('a failure of a step that is not awaited comes out at the end', async () => {
    const life = new StepLife()
    void life.track(Promise.reject(new Error('unseen')))

    await expect(life.finish()).rejects.toThrow('unseen')
  })

  test('the end waits for what is on its way', async () => {
    const life = new StepLife()
    let open: () => void = () => undefined
    let isDone = false
    void life.track(new Promise<void>((resolve) => (open = resolve)).then(() => (isDone = true)))
    const finished = life.finish().then(() => isDone)
    open()

    expect(await finished).toBe(true)
  })

  test('after the end nothing begins', async () => {
    const life = new StepLife()
    await life.finish()

    expect(() => life.requireLive()).toThrow(
      expect.objectContaining({ code: 'TX_REVOKED' }) as Error,
    )
  })

  test('a lost lease ends it at once: listeners, running steps and new ones', async () => {
    const life = new StepLife()
    const { signal } = life
    const running = life.withTimeout(never, undefined, 'step.call("a")')

    const lost = life.lose()

    expect(lost).toMatchObject({ code: 'LEASE_LOST', retryable: true })
    await expect(running).rejects.toBe(lost)
    expect(signal.reason).toBe(lost)
    expect(() => life.requireLive()).toThrow(lost)
  })

  test('work that takes too long fails with its name', async () => {
    const life = new StepLife()

    await expect(life.withTimeout(never, 1, 'step.tx("slow")')).rejects.toThrow(
      'step.tx("slow") did not end within 1 ms',
    )
  })

  test('the signal of work that takes too long aborts, and the run goes on', async () => {
    const life = new StepLife()
    const signals: AbortSignal[] = []
    const hang = ({ signal }: { readonly signal: AbortSignal }) => {
      signals.push(signal)
      return never()
    }

    const error: unknown = await life.withTimeout(hang, 1, 'fetch').catch((e: unknown) => e)

    expect(signals.map(({ reason }): unknown => reason)).toEqual([error])
    expect(life.signal.aborted).toBe(false)
    expect(life.hasEnded).toBe(false)
  })

  test('the signal of work aborts with the run', async () => {
    const life = new StepLife()
    const running = life.withTimeout(
      ({ signal }) => new Promise((resolve) => signal.addEventListener('abort', resolve)),
      undefined,
      'fetch',
    )

    const lost = life.lose()

    await expect(running).rejects.toBe(lost)
  })

  test.each([
    ['step.tx("slow")', 'belongs in the outbox (send) or in a step.call'],
    ['step.call("slow")', 'Hand its signal on'],
    ['fetch', 'Hand its signal on'],
  ])('%s that takes too long is told what to do about it', async (what, advice) => {
    const running = new StepLife().withTimeout(never, 1, what)

    await expect(running).rejects.toThrow(advice)
  })
})

function never(): Promise<never> {
  return new Promise(() => undefined)
}
