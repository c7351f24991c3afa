import { describe, expect, test } from 'vitest'
import { isPinnedUrl } from '../../src/verify/fetch-text.ts'
import { KeyCache } from '../../src/verify/key-cache.ts'

function cacheOf(answers: (name: string) => Promise<object | undefined>) {
  const asked: string[] = []
  const clock = { now: 0 }
  const cache = new KeyCache<object>({
    keptMs: 100,
    staleKeptMs: 1_000_000,
    missKeptMs: 10,
    failedMs: 5,
    timeoutMs: 50,
    now: () => clock.now,
    fetchKey: (name) => {
      asked.push(name)
      return answers(name)
    },
  })
  return { asked, clock, cache }
}

describe('a cache of keys', () => {
  test('asks once for a key, also when many ask at once, and again when it is old', async () => {
    const key = {}
    const { asked, clock, cache } = cacheOf(() => Promise.resolve(key))

    expect(await Promise.all([cache.find('a'), cache.find('a'), cache.find('a')])).toEqual([
      key,
      key,
      key,
    ])
    expect(await cache.find('a')).toBe(key)
    expect(asked).toEqual(['a'])
    clock.now = 100
    await cache.find('a')
    expect(asked).toEqual(['a', 'a'])
  })

  test('remembers for a while that there is no such key', async () => {
    const { asked, clock, cache } = cacheOf(() => Promise.resolve(undefined))

    expect(await cache.find('a')).toBe('unknown-key')
    expect(await cache.find('a')).toBe('unknown-key')
    clock.now = 10
    await cache.find('a')
    expect(asked).toHaveLength(2)
  })

  test('says that a key cannot be had now, asks again after a while, and keeps an old one meanwhile', async () => {
    const key = {}
    let isDown = true
    const { asked, clock, cache } = cacheOf(() =>
      isDown ? Promise.reject(new Error('down')) : Promise.resolve(key),
    )

    expect(await cache.find('a')).toBe('key-unavailable')
    isDown = false
    expect(await cache.find('a')).toBe('key-unavailable')
    expect(asked).toHaveLength(1)
    clock.now = 5
    expect(await cache.find('a')).toBe(key)
    isDown = true
    clock.now = 1_000
    expect(await cache.find('a')).toBe(key)
    expect(await cache.find('a')).toBe(key)
    expect(asked).toHaveLength(3)
  })

  test('does not believe an old key for ever', async () => {
    let isDown = false
    const { clock, cache } = cacheOf(() =>
      isDown ? Promise.reject(new Error('down')) : Promise.resolve({}),
    )

    await cache.find('a')
    cache.prove('a')
    isDown = true
    clock.now = 100 + 999_999
    expect(await cache.find('a')).toEqual({})
    clock.now = 100 + 1_000_000 + 5
    expect(await cache.find('a')).toBe('key-unavailable')
  })

  test('forgets a proven key that the sender has no longer', async () => {
    let key: object | undefined = {}
    const { clock, cache } = cacheOf(() => Promise.resolve(key))

    await cache.find('a')
    cache.prove('a')
    key = undefined
    clock.now = 100
    expect(await cache.find('a')).toBe('unknown-key')
  })

  test('R68: runs a few fetches at once, whatever strangers name', async () => {
    let release: () => void = () => undefined
    const gate = new Promise<void>((resolve) => (release = resolve))
    const { asked, cache } = cacheOf(async () => {
      await gate
      return {}
    })

    const found = Array.from({ length: 100 }, (_, index) => cache.find(`key-${index}`))
    release()
    const answers = await Promise.all(found)

    expect(asked).toHaveLength(4)
    expect(answers.filter((answer) => answer === 'key-unavailable')).toHaveLength(96)
  })

  test('R68: asks for few names of strangers in a minute, and for a proven one all the same', async () => {
    const { asked, clock, cache } = cacheOf((name) =>
      Promise.resolve(name === 'good' ? {} : undefined),
    )
    await cache.find('good')
    cache.prove('good')

    for (let index = 0; index < 1_000; index += 1) await cache.find(`key-${index}`)
    expect(asked).toHaveLength(30)
    clock.now = 200
    expect(await cache.find('good')).toEqual({})
    expect(asked).toHaveLength(31)
    clock.now = 60_000
    expect(await cache.find('key-last')).toBe('unknown-key')
  })

  test('R68: keeps a proven key, however many keys strangers name', async () => {
    const key = {}
    let isDown = false
    const { asked, clock, cache } = cacheOf((name) =>
      isDown && name === 'good' ? Promise.reject(new Error('down')) : Promise.resolve(key),
    )
    await cache.find('good')
    cache.prove('good')
    isDown = true

    for (let index = 0; index < 300; index += 1) {
      clock.now += 2_000
      await cache.find(`key-${index}`)
    }

    expect(asked).toHaveLength(301)
    expect(await cache.find('good')).toBe(key)
  })

  test.each(['can', 'cannot'])(
    'R68: has a proven key while all that strangers may fetch hangs, be it that it %s be fetched again',
    async (can) => {
      const key = {}
      let isHanging = false
      const { clock, cache } = cacheOf((name) => {
        if (isHanging && name !== 'good') return new Promise(() => undefined)
        if (isHanging && can === 'cannot') return Promise.reject(new Error('down'))
        return Promise.resolve(key)
      })
      await cache.find('good')
      cache.prove('good')
      isHanging = true
      for (let index = 0; index < 4; index += 1) void cache.find(`key-${index}`)
      expect(await cache.find('key-last')).toBe('key-unavailable')

      clock.now = 100

      expect(await cache.find('good')).toBe(key)
    },
  )

  test('R68: ends a fetch in time that pays no attention to its signal, and lets the next one run', async () => {
    const { asked, clock, cache } = cacheOf(() => new Promise(() => undefined))

    const hanging = Array.from({ length: 4 }, (_, index) => cache.find(`key-${index}`))
    expect(await Promise.all(hanging)).toEqual(Array(4).fill('key-unavailable'))
    clock.now = 10
    void cache.find('key-next')

    expect(asked).toHaveLength(5)
  })
})

describe('a pinned address', () => {
  const host = /^sns\.[a-z0-9-]+\.amazonaws\.com$/

  test.each([
    ['https://sns.eu-west-1.amazonaws.com/a.pem', true],
    ['http://sns.eu-west-1.amazonaws.com/a.pem', false],
    ['https://sns.eu-west-1.amazonaws.com.evil.example/a.pem', false],
    ['https://sns.eu-west-1.amazonaws.com@evil.example/a.pem', false],
    ['https://user@sns.eu-west-1.amazonaws.com/a.pem', false],
    ['https://sns.eu-west-1.amazonaws.com:8443/a.pem', false],
    ['https://evil.example/sns.eu-west-1.amazonaws.com', false],
    ['https://evil.example\\.sns.eu-west-1.amazonaws.com/', false],
    ['file:///etc/passwd', false],
    ['', false],
  ])('%s: %s', (url, expected) => {
    expect(isPinnedUrl(url, host)).toBe(expected)
  })
})
