import { expect, test } from 'vitest'
import type { OnceDraft } from '../../../src/store/contract/once.ts'
import type { QueryTx, StoreUnderTest, DatabaseUnderTest } from '../../support/store-under-test.ts'
import type { Store } from '../../../src/store/contract/store.ts'
import { SHOWN_MAX } from '../../../src/store/shared/cut-text.ts'
import { aMessageDraft, anEventDraft } from '../../support/builders.ts'
import { ENCRYPTION } from '../../support/encryption-keys.ts'
import { aCall, leaseOne } from '../../support/lease-steps.ts'
import { A_FAILURE, claimOne } from '../../support/outbox-steps.ts'
import {
  act,
  claim,
  dead,
  done,
  recordOne,
  retryIn,
  runOne,
  skipped,
} from '../../support/store-steps.ts'
import { openStore } from '../../support/store-under-test.ts'
import { dump, occurrences } from './dump.ts'

const CANARY = 'canary-4242424242424242'
/** Longer than a list shows of it. */
const SAID = `Error: no such card ${CANARY}${' and so on'.repeat(500)}`

/** What a person with a copy of the database can read. */
export function storedContract(underTest: StoreUnderTest): void {
  test(`S01 ${underTest.name}: nothing of a payload is in what is stored, wherever a handler took it`, async () => {
    const { database, store: clear } = await openStore(underTest)
    await fill(clear, database)
    const inClear = occurrences(await dump(database), CANARY)

    const other = await openStore(underTest, { encryption: ENCRYPTION })
    await fill(other.store, other.database)
    const dumped = await dump(other.database)

    // The same way of looking finds all of it where nothing is encrypted.
    expect(inClear).toBeGreaterThanOrEqual(15)
    expect(occurrences(dumped, CANARY)).toBe(0)
    // Nor are the keys, in any of their forms.
    for (const { key } of ENCRYPTION.keys)
      expect(occurrences(dumped, Buffer.from(key as Uint8Array).toString('latin1'))).toBe(0)
  })

  test(`S01 ${underTest.name}: all of it is read as it was`, async () => {
    const { database, store } = await openStore(underTest, { encryption: ENCRYPTION })
    const { failed, part, sent } = await fill(store, database)

    const record = await store.operators.findEvent(failed)
    expect(Buffer.from(record!.body).toString()).toBe(JSON.stringify({ card: CANARY }))
    expect(record).toMatchObject({
      payload: 'kept',
      headers: { 'x-card': CANARY },
      outcome: { reason: SAID },
      failures: [{ message: SAID, stack: `at ${CANARY}`, cause: `Error: ${CANARY}` }],
    })
    expect(Buffer.from((await store.operators.findRequest(part))!).toString()).toContain(CANARY)
    const shown = SAID.slice(0, SHOWN_MAX)
    const [summary] = await store.search.summarize([failed])
    expect(summary).toMatchObject({ reason: shown, error: shown })
    const walk = { of: 'dead', since: new Date(0), after: undefined, limit: 100 } as const
    const failures = await store.search.walkFailures(walk)
    expect(failures.find(({ position }) => position.eventId === failed)?.message).toBe(shown)
    const message = await store.messages.find(sent)
    expect(Buffer.from(message!.body).toString()).toBe(CANARY)
    expect(message).toMatchObject({
      headers: { 'x-card': CANARY },
      outcome: { response: { head: `x: ${CANARY}` } },
    })
  })
}

async function fill(
  store: Store<QueryTx>,
  database: DatabaseUnderTest,
): Promise<{ failed: string; part: string; sent: string }> {
  let drafted = 0
  const record = async (request?: Uint8Array): Promise<string> => {
    const body = JSON.stringify({ card: CANARY })
    const headers = { 'x-card': CANARY }
    drafted += 1
    const key = `evt_${drafted}`
    return (await recordOne(store, anEventDraft({ key, body, headers, request }))).eventId
  }
  const failure = {
    attempt: 1,
    reason: 'error',
    message: SAID,
    stack: `at ${CANARY}`,
    cause: `Error: ${CANARY}`,
    durationMs: 1,
  } as const

  const part = await record(Buffer.from(`[{"card":"${CANARY}"}, {}]`))
  await runOne(store, (event) => ({ ...skipped(event), reason: CANARY }) as never)
  await record()
  await runOne(store, ({ eventId, run, attempt }) => ({
    state: 'done',
    eventId,
    run,
    attempt,
    durationMs: 1,
    result: JSON.stringify(CANARY),
  }))
  const failed = await record()
  await runOne(store, (event) => ({ ...dead(event), reason: SAID, failure }))
  const replay = { freshKeys: false, body: Buffer.from(CANARY), onlyIfNotApplied: false }
  const replayed = await record()
  await runOne(store, done)
  await act(store, 'replay', replayed, { replay })
  await runOne(store, (event) => ({ ...retryIn(3_600_000)(event), failure }))

  await record()
  const group = await claim(store)
  const draft = { body: Buffer.from(CANARY), headers: { 'x-card': CANARY } }
  await store.messages.enqueue(group.lend().tx, [
    aMessageDraft(draft),
    aMessageDraft({ ...draft, key: 'key_2' }),
  ])
  await group.settle(group.events.map((event) => ({ ...dead(event), failure })))
  await group.commit()
  const response = { status: 400, head: `x: ${CANARY}`, body: Buffer.from(CANARY) }
  const [first, second] = await store.messages.claim({
    wanted: [{ destination: 'receipts', limit: 2 }],
    leaseMs: 60_000,
  })
  await store.messages.settle([
    { id: first!.id, token: first!.token, state: 'sent', response },
    {
      id: second!.id,
      token: second!.token,
      state: 'ready',
      retryInMs: 0,
      doubt: 'keep',
      failure: { ...A_FAILURE, message: SAID, response },
      answer: undefined,
      sameAnswers: 0,
    },
  ])
  const { id, token } = await claimOne(store)
  await store.messages.settle([
    {
      id,
      token,
      state: 'dead',
      reason: SAID,
      doubt: 'keep',
      failure: { ...A_FAILURE, message: SAID, response },
      blocksLane: false,
    },
  ])

  await record()
  const leased = await leaseOne(store)
  const result = JSON.stringify(CANARY)
  await store.steps.writeCalls([aCall(leased)])
  await store.steps.writeCalls([aCall(leased, { change: 'done', result })])
  const step = {
    lease: leased.lease,
    kind: 'tx',
    handler: 'h',
    position: 2,
    name: 'write',
  } as const
  const steps = await store.steps.open([step], { idleTimeoutMs: 60_000, lockTimeoutMs: 0 })
  await steps!.commit([{ text: result }])
  await store.steps.settle([
    { lease: leased.lease, settlement: { ...dead(leased), reason: SAID, failure } },
  ])

  const own = await database.begin()
  const once: OnceDraft = {
    ...anEventDraft({ source: 'jobs', key: 'job_1' }),
    key: 'job_1',
    body: Buffer.from(CANARY),
    contentType: 'text/plain',
  }
  const claimed = await store.once.claim(own.tx, once, { mayWait: true })
  if (claimed.status !== 'first') throw new Error('It is the first')
  await store.once.finish(own.tx, claimed.eventId, { result, durationMs: 1 })
  await own.commit()
  return { failed, part, sent: first!.id }
}
