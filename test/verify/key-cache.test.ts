import { describe, expect, test } from 'vitest'
import { isPinnedUrl } from '../../src/verify/fetch-text.ts'
import { KeyCache } from '../../src/verify/key-cache.ts'

function cacheOf(answers: (name: string) => Promise<object | undefined>) {
  const asked: string[] = []
  const clock = { now: 0 }
  const cache = new KeyCache<object>({
    keptMs: 100,
    missKeptMs: 10,
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

  test('says that a key cannot be had now, asks again, and keeps an old one meanwhile', async () => {
    const key = {}
    let isDown = true
    const { clock, cache } = cacheOf(() =>
      isDown ? Promise.reject(new Error('down')) : Promise.resolve(key),
    )

    expect(await cache.find('a')).toBe('key-unavailable')
    isDown = false
    expect(await cache.find('a')).toBe(key)
    isDown = true
    clock.now = 1_000
    expect(await cache.find('a')).toBe(key)
  })

  test('runs a few fetches at once, whatever strangers name', async () => {
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
