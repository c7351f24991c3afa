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
    const running = life.withTimeout(new Promise(() => undefined), undefined, 'step.call("a")')

    const lost = life.lose()

    expect(lost).toMatchObject({ code: 'LEASE_LOST', retryable: true })
    await expect(running).rejects.toBe(lost)
    expect(signal.reason).toBe(lost)
    expect(() => life.requireLive()).toThrow(lost)
  })

  test('work that takes too long fails with its name', async () => {
    const life = new StepLife()

    await expect(
      life.withTimeout(new Promise(() => undefined), 1, 'step.tx("slow")'),
    ).rejects.toThrow('step.tx("slow") did not end within 1 ms')
  })

  test.each([
    ['step.tx("slow")', 'belongs in the outbox (send) or in a step.call'],
    ['step.call("slow")', 'Hand its signal on'],
    ['fetch', 'Hand its signal on'],
  ])('%s that takes too long is told what to do about it', async (what, advice) => {
    const running = new StepLife().withTimeout(new Promise(() => undefined), 1, what)

    await expect(running).rejects.toThrow(advice)
  })
})
