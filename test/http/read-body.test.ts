import { PassThrough, Readable } from 'node:stream'
import { afterEach, describe, expect, test } from 'vitest'
import { readNodeBody, readWebBody } from '../../src/http/read-body.ts'
import { ByteBudget } from '../../src/receive/byte-budget.ts'

const BUDGET = new ByteBudget(1_000_000)
const LIMITS = { bodyBytesMax: 100_000, bodyTimeoutMs: 60_000, budget: BUDGET }

/** What is read is given back, and what is not read to its end takes nothing. */
afterEach(() => {
  expect(BUDGET.taken).toBe(0)
})

describe('a Node stream', () => {
  test('gives the bytes of all its chunks, however small', async () => {
    const sent = Buffer.from(Array.from({ length: 40_000 }, (_, index) => index % 256))

    const read = await readNodeBody(
      Readable.from(inChunks(sent, 3), { objectMode: false }),
      undefined,
      LIMITS,
    )

    expect(read).toMatchObject({ status: 'complete', bytes: expect.any(Uint8Array) as object })
    expect(bytesOf(read).equals(sent)).toBe(true)
  })

  test('may be exactly as long as the cap, and not one byte longer', async () => {
    const longest = Buffer.alloc(LIMITS.bodyBytesMax, 'x')
    const tooLong = Buffer.alloc(LIMITS.bodyBytesMax + 1, 'x')

    const fits = await readNodeBody(
      Readable.from(inChunks(longest, 999), { objectMode: false }),
      undefined,
      LIMITS,
    )
    const over = await readNodeBody(
      Readable.from(inChunks(tooLong, 999), { objectMode: false }),
      undefined,
      LIMITS,
    )

    expect(bytesOf(fits).equals(longest)).toBe(true)
    expect(over).toEqual({ status: 'too-large' })
  })

  test('is refused by its declared length before a byte is read', async () => {
    const stream = new PassThrough()

    const read = await readNodeBody(stream, '100001', LIMITS)

    expect(read).toEqual({ status: 'too-large' })
    expect(stream.readableDidRead).toBe(false)
  })

  test('is not read on once the cap is passed', async () => {
    let pulled = 0
    const endless = new Readable({
      read() {
        pulled += 1_000
        this.push(Buffer.alloc(1_000))
      },
    })

    const read = await readNodeBody(endless, undefined, LIMITS)
    const pulledAtAnswer = pulled
    await new Promise((resolve) => setImmediate(resolve))

    expect(read).toEqual({ status: 'too-large' })
    expect(pulledAtAnswer).toBeLessThanOrEqual(LIMITS.bodyBytesMax + 65_536)
    expect(pulled).toBeLessThanOrEqual(pulledAtAnswer + 65_536)
  })

  test('is too slow when its end does not come in time', async () => {
    const stream = new PassThrough()
    stream.write('{"half":')

    expect(await readNodeBody(stream, undefined, { ...LIMITS, bodyTimeoutMs: 5 })).toEqual({
      status: 'too-slow',
    })
  })

  test('that breaks is aborted, and a second break after that throws nothing', async () => {
    const stream = new PassThrough()
    stream.write('{"half":')
    const reading = readNodeBody(stream, undefined, LIMITS)
    stream.destroy(new Error('reset'))

    expect(await reading).toEqual({ status: 'aborted' })
    expect(() => stream.emit('error', new Error('late'))).not.toThrow()
  })

  test('that was destroyed before it was read is aborted', async () => {
    const stream = new PassThrough()
    stream.destroy()

    expect(await readNodeBody(stream, undefined, LIMITS)).toEqual({ status: 'aborted' })
  })
})

describe('R62: where the bodies of others take nearly all there is', () => {
  const reads = [
    [
      'a Node stream',
      (chunks: readonly Buffer[], declared: string | undefined, budget: ByteBudget) =>
        readNodeBody(Readable.from(chunks, { objectMode: false }), declared, { ...LIMITS, budget }),
    ],
    [
      'a web stream',
      (chunks: readonly Buffer[], declared: string | undefined, budget: ByteBudget) =>
        readWebBody(webStream(chunks), declared, { ...LIMITS, budget }),
    ],
  ] as const

  test.each(reads)('%s finds no room by its declared length', async (_name, read) => {
    const budget = new ByteBudget(50_000)
    budget.take(20_000)

    expect(await read([Buffer.alloc(30_001)], '30001', budget)).toEqual({ status: 'no-room' })
    expect(budget.taken).toBe(20_000)
  })

  test.each(reads)(
    '%s finds none as it grows, and gives back what it took',
    async (_name, read) => {
      const budget = new ByteBudget(50_000)
      budget.take(20_000)

      const chunks = inChunks(Buffer.alloc(60_000), 1_000)

      expect(await read(chunks, undefined, budget)).toEqual({ status: 'no-room' })
      expect(budget.taken).toBe(20_000)
    },
  )

  test.each(reads)('%s that fits takes what it holds until it is released', async (_name, read) => {
    const budget = new ByteBudget(50_000)

    const body = await read(inChunks(Buffer.alloc(20_000), 999), '20000', budget)

    expect(body).toMatchObject({ status: 'complete' })
    expect(budget.taken).toBe(20_000)
    if (body.status === 'complete') body.giveBack()
    expect(budget.taken).toBe(0)
  })
})

describe('a web stream', () => {
  test('gives the bytes of all its chunks', async () => {
    const sent = Buffer.from('{"id":"evt_1","name":"é"}')

    const read = await readWebBody(webStream(inChunks(sent, 1)), undefined, LIMITS)

    expect(bytesOf(read).equals(sent)).toBe(true)
  })

  test('that is not there is an empty body', async () => {
    expect(await readWebBody(null, undefined, LIMITS)).toMatchObject({
      status: 'complete',
      bytes: new Uint8Array(0),
    })
  })

  test('is cancelled once the cap is passed', async () => {
    let isCancelled = false
    const endless = new ReadableStream<Uint8Array>({
      pull: (controller) => controller.enqueue(new Uint8Array(1_000)),
      cancel: () => {
        isCancelled = true
      },
    })

    expect(await readWebBody(endless, undefined, LIMITS)).toEqual({ status: 'too-large' })
    expect(isCancelled).toBe(true)
  })

  test('is refused by its declared length before a byte is read', async () => {
    const stream = webStream([Buffer.from('x')])

    expect(await readWebBody(stream, '100001', LIMITS)).toEqual({ status: 'too-large' })
    expect(stream.locked).toBe(false)
  })

  test('is too slow when its end does not come in time, even if it ignores being cancelled', async () => {
    const stuck = new ReadableStream<Uint8Array>({ cancel: () => new Promise(() => undefined) })

    expect(await readWebBody(stuck, undefined, { ...LIMITS, bodyTimeoutMs: 5 })).toEqual({
      status: 'too-slow',
    })
  })

  test('that breaks is aborted', async () => {
    const broken = new ReadableStream<Uint8Array>({
      pull: (controller) => controller.error(new Error('reset')),
    })

    expect(await readWebBody(broken, undefined, LIMITS)).toEqual({ status: 'aborted' })
  })
})

function bytesOf(read: Awaited<ReturnType<typeof readNodeBody>>): Buffer {
  if (read.status !== 'complete') return Buffer.from(read.status)
  read.giveBack()
  return Buffer.from(read.bytes)
}

function inChunks(bytes: Buffer, size: number): Buffer[] {
  return Array.from({ length: Math.ceil(bytes.length / size) }, (_, index) =>
    bytes.subarray(index * size, (index + 1) * size),
  )
}

function webStream(chunks: readonly Uint8Array[]): ReadableStream<Uint8Array> {
  return new ReadableStream({
    start(controller) {
      for (const chunk of chunks) controller.enqueue(chunk)
      controller.close()
    },
  })
}
