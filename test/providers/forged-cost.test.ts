import { createHmac } from 'node:crypto'
import { expect, test } from 'vitest'
import type { Delivery } from '../../src/model/delivery.ts'
import type { Source } from '../../src/model/source.ts'
import type { Verification } from '../../src/providers/index.ts'
import { admit } from '../../src/receive/admit.ts'
import { HappeningEmitter } from '../../src/telemetry/emitter.ts'
import { makeSubject } from '../../src/testing/check-subject.ts'
import type { Subject } from '../../src/testing/check-subject.ts'
import { cpuMsOf } from '../support/cpu-time.ts'
import type { Work } from '../support/cpu-time.ts'
import { findCase } from './find-case.ts'
import { listHostileRequests } from './hostile-requests.ts'
import type { HostileRequest } from './hostile-requests.ts'
import { PROVIDERS } from './vector.ts'

/** What a request may cost before it is verified, in HMACs over the same bytes. */
const BUDGET = 10
const SECRETS = 10
/** Below it the figures say more about the machine than about the verifier. */
const FLOOR_MS = 4
const USUAL_BYTES = 1_048_576
/** How often a request that seems costly is looked at again. */
const ROUNDS = 15

/** Longer than any of them takes by itself: it is the processor's time that is measured, and others want it too. */
const TIMEOUT = { timeout: 600_000 }

for (const [slug, provider] of PROVIDERS) {
  const one = await findCase(slug)
  if (one === undefined) throw new Error(`${slug} has no case`)
  const subject = makeSubject(provider, one)
  const forged = subject.deliver({}, subject.other)
  const { bodyBytesMax = 0 } = subject.source

  test(
    `R64: a forged request of ${slug} costs at most ten HMACs over the same bytes`,
    TIMEOUT,
    async () => {
      const requests = listHostileRequests(subject.source, forged, USUAL_BYTES)

      expect(await listCostly(subject.source, requests, BUDGET)).toEqual([])
    },
  )

  test(`R64: ten secrets of ${slug} cost no more than their own HMACs`, TIMEOUT, async () => {
    const { source, count } = withSecrets(subject)
    const all = listHostileRequests(source, forged, USUAL_BYTES)
    const isSigned = signsBody(provider.definition.verify)
    // A signature over the body is tried with each secret, whatever the body is; a token is compared with
    // all of them at once.
    const requests = isSigned ? someOf(all, 5) : all
    const budget = isSigned ? BUDGET * count : BUDGET

    expect(await listCostly(source, requests, budget)).toEqual([])
  })

  if (bodyBytesMax <= USUAL_BYTES) continue
  test(`R64: a forged request of the largest size of ${slug} costs no more`, TIMEOUT, async () => {
    const requests = someOf(listHostileRequests(subject.source, forged, bodyBytesMax), 10)

    expect(await listCostly(subject.source, requests, BUDGET)).toEqual([])
  })
}

function signsBody({ signsBody: isSigned, choices = [] }: Verification): boolean {
  return isSigned || choices.some(({ use }) => use.signsBody)
}

function* someOf(
  requests: Iterable<HostileRequest>,
  step: number,
): Generator<HostileRequest, void> {
  let index = 0
  for (const request of requests) {
    if (index % step === 0) yield request
    index += 1
  }
}

/** The hostile requests that cost more than so many HMACs, with what they cost. */
async function listCostly(
  source: Source,
  requests: Iterable<HostileRequest>,
  budget: number,
): Promise<readonly string[]> {
  const costly: string[] = []
  for (const { name, delivery } of requests) {
    const ratio = await findExcess(
      () => refuse(source, delivery),
      () => createHmac('sha256', 'a key').update(delivery.body).digest(),
      budget,
    )
    if (ratio !== undefined) costly.push(`${name}: ${ratio.toFixed(1)} HMACs`)
  }
  return costly
}

/**
 * How many times as long the work takes as its measure, where that is more than the budget.
 *
 * The two run in turns, and the best round of each counts: a compilation, a collection of garbage or another
 * process makes some rounds slower, and none faster. Most need one round.
 */
async function findExcess(work: Work, measure: Work, budget: number): Promise<number | undefined> {
  let workMs = Number.POSITIVE_INFINITY
  let measureMs = Number.POSITIVE_INFINITY
  for (let round = 0; round < ROUNDS; round += 1) {
    measureMs = Math.min(measureMs, await cpuMsOf(measure))
    workMs = Math.min(workMs, await cpuMsOf(work))
    if (workMs <= Math.max(FLOOR_MS, budget * measureMs)) return undefined
  }
  return workMs / measureMs
}

/** As admit() does it; a new copy of the bytes each time, since what was read of a body is kept with it. */
async function refuse(source: Source, delivery: Delivery): Promise<void> {
  const context = {
    sources: new Map([['source', source]]),
    options: { bodyBytesMax: Number.MAX_SAFE_INTEGER, eventsMax: 10_000 },
    happenings: new HappeningEmitter(),
  }
  const copy = { ...delivery, body: delivery.body.subarray() }
  const admission = await admit(context, 'source', copy)
  if (!('answer' in admission)) throw new Error('A forged delivery was admitted')
  const { status } = admission.answer
  // Some senders want their refusals answered 200, and some handshakes are open to all.
  const isRefused = status === 200 || (status >= 400 && status < 500)
  if (!isRefused) throw new Error(`A forged delivery was answered ${status}`)
}

/** The same source with as many secrets as it takes. */
function withSecrets(subject: Subject): { source: Source; count: number } {
  const { own, make } = subject
  const options = own.options as Readonly<Record<string, unknown>>
  for (const count of [SECRETS, 2]) {
    try {
      return { source: make({ ...own, options: multiply(options, count) }), count }
    } catch {
      // Box has two keys and no more.
    }
  }
  return { source: subject.source, count: 1 }
}

function multiply(options: Readonly<Record<string, unknown>>, count: number): object {
  const many: Record<string, unknown> = { ...options }
  const { secrets } = options
  if (Array.isArray(secrets)) many['secrets'] = listAlike(secrets[0] as string, count)
  for (const name of ['publicKey', 'certificate', 'jwk']) {
    if (options[name] !== undefined) many[name] = Array(count).fill(options[name])
  }
  return many
}

/** Secrets of the same shape, be that hexadecimal, base64 or any text. */
function listAlike(secret: string, count: number): readonly string[] {
  const at = secret.length - 6
  return Array.from(
    { length: count },
    (_, n) => `${secret.slice(0, at)}${n}${secret.slice(at + 1)}`,
  )
}
