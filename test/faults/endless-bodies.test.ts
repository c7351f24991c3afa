import { expect, test } from 'vitest'
import { chunkOf, writeUntilClosed } from '../support/endless-body.ts'
import { createFaultDatabase } from '../support/faults/fault-database.ts'
import { fromPartner } from '../support/faults/fault-sources.ts'
import { memoryOf } from '../support/faults/memory-of.ts'
import { post } from '../support/faults/post.ts'
import { startSubject } from '../support/faults/start-subjects.ts'
import { rawSender } from '../support/raw-exchange.ts'

const MIB = 1024 ** 2
/** So large that what is held of bodies is more than what a process takes for itself. */
const CAP = 16 * MIB
const SENDERS = 8
/** Of each sender. Together they would send 2 GiB in a round, sixteen times what may be held. */
const WANTED = 256 * MIB
/** If each left behind what it was allowed to send, the later rounds would show it. */
const ROUNDS = 6

/**
 * Measured: twice the cap for each sender, with four senders up to three times. What is over the cap
 * are buffers that were outgrown and wait for the garbage collector, which takes its time.
 */
const GROWTH_MAX = 4 * CAP * SENDERS

const ENDLESS = Buffer.alloc(65_536, 'x')
const BODIES = {
  'without a length': { header: 'transfer-encoding: chunked', bytes: chunkOf(65_536) },
  'longer than declared': { header: 'content-length: 2', bytes: ENDLESS },
  'declared too long': { header: `content-length: ${WANTED}`, bytes: ENDLESS },
}

test.each(Object.entries(BODIES))(
  'R35: bodies without end, %s, take memory by the cap and not by what is sent',
  async (_name, { header, bytes }) => {
    const database = await createFaultDatabase('sqlite')
    const receiver = await startSubject('receiver', {
      store: database.store,
      receive: { bodyBytesMax: CAP, bodyTimeoutMs: 50_000 },
    })
    const pid = receiver.process.pid as number
    // What is loaded and compiled for the first request is not counted.
    await post(receiver.url, fromPartner({ key: 'before' }))
    const before = memoryOf(pid).residentBytes

    const sendOne = async (): Promise<number> => {
      const sender = await rawSender(Number(new URL(receiver.url).port))
      sender.write(`POST /in/partner HTTP/1.1\r\nhost: x\r\n${header}\r\n\r\n`)
      const written = await writeUntilClosed(sender, bytes, WANTED)
      expect(memoryOf(pid).peakBytes - before).toBeLessThan(GROWTH_MAX)
      // The answer is not looked at: to a sender that does not stop, a reset may come before it.
      await sender.closed
      return written
    }
    for (let round = 0; round < ROUNDS; round += 1) {
      const written = await Promise.all(Array.from({ length: SENDERS }, sendOne))
      expect(Math.max(...written)).toBeLessThan(WANTED)
    }

    expect(await post(receiver.url, fromPartner({ key: 'after' }))).toMatchObject({ status: 200 })
    expect(await database.count('events')).toBe(2)
  },
)
