import { isDeepStrictEqual } from 'node:util'
import type { Delivery } from '../model/delivery.ts'
import type { HandshakeResult, Source } from '../model/source.ts'
import { CHECKED_AT, fingerprintsOf, identityOf, sampleKey, unless } from './check-subject.ts'
import type { Problems, ProviderCheck, Subject } from './check-subject.ts'
import type { HandshakeCase, ProviderCase, Resign } from './provider-case.ts'

/** That an event is known again in every retry, and told from every other. */
export function listEventChecks(subject: Subject): readonly ProviderCheck[] {
  const { one, provider } = subject
  const { batch, handshakes } = one
  return [
    { name: 'gives the same event the same key, twice', run: () => checkSameKey(subject) },
    { name: 'gives two events two keys', run: () => checkTwoKeys(subject) },
    {
      name: 'does not keep a secret that came in the body',
      run: () => checkKeptSecrets(subject),
    },
    {
      name:
        one.retryIsSameEvent === false
          ? 'takes a retry that was signed anew for another event'
          : 'knows a retry as the provider makes it, by key and by content',
      run: () => checkRetry(subject),
    },
    ...(batch === undefined
      ? [
          {
            name: 'has no batch without a case',
            run: () => unless(provider.definition.batch === undefined, 'its batch has no case'),
          },
        ]
      : listBatchChecks(subject, batch)),
    ...(handshakes?.map((handshake) => ({
      name: `handshake: ${handshake.name}`,
      run: () => checkHandshake(subject, handshake),
    })) ?? [
      {
        name: 'has no handshake without a case',
        run: () => unless(provider.definition.handshake === undefined, 'its handshake has no case'),
      },
    ]),
  ]
}

function checkSameKey({ types, source, deliver }: Subject): Problems {
  const identities = (type: string) => source.identify(deliver({ type })).map(identityOf)
  return types
    .filter((type) => !isDeepStrictEqual(identities(type), identities(type)))
    .map((type) => `a ${type} has another key the second time`)
}

function checkTwoKeys({ one, types, source, deliver }: Subject): Problems {
  const identity = (type: string, n: number) =>
    identityOf(source.identify(deliver({ type, key: sampleKey(one.fixture, n) }))[0])
  return types
    .filter((type) => identity(type, 1) === identity(type, 2))
    .map((type) => `two events of the type ${type} have one key`)
}

function checkKeptSecrets({ own, types, source, deliver }: Subject): Problems {
  const { secret = '' } = own.credentials
  const keeps = (type: string) => {
    const delivery = deliver({ type })
    return source
      .identify(delivery)
      .some(({ body = delivery.body }) => Buffer.from(body).includes(secret))
  }
  return secret === ''
    ? []
    : types.filter(keeps).map((type) => `the secret is in what is stored of a ${type}`)
}

async function checkRetry({ one, types, source, deliver }: Subject): Promise<Problems> {
  const problems: string[] = []
  for (const type of types) {
    const delivery = deliver({ type })
    const resign: Resign = ({ body, headers, afterSeconds = 60 }) => {
      // The event's own time stays what it was; only the sending is later.
      const event = { type, body: body ?? Buffer.from(delivery.body), headers: { ...headers } }
      return deliver({ ...event, at: later(afterSeconds) })
    }
    const retry = one.retryOf?.(delivery, resign) ?? resign({})
    const isSame = isDeepStrictEqual(
      fingerprintsOf(source, delivery),
      fingerprintsOf(source, retry),
    )
    const { ok } = await source.verify(retry)
    problems.push(
      ...unless(ok, `the retry of a ${type} is refused`),
      ...unless(
        isSame === (one.retryIsSameEvent !== false),
        `the retry of a ${type} is ${isSame ? 'the same' : 'another'} event`,
      ),
    )
  }
  return problems
}

function later(seconds: number): Date {
  return new Date(CHECKED_AT.getTime() + seconds * 1000)
}

function listBatchChecks(
  { one, source, deliver }: Subject,
  batch: NonNullable<ProviderCase['batch']>,
): readonly ProviderCheck[] {
  const keys = [1, 2, 3, 4].map((n) => sampleKey(one.fixture, n))
  const deliverBatch = (some: readonly string[], afterSeconds = 0): Delivery =>
    deliver({ body: batch(some, CHECKED_AT), at: later(afterSeconds) })
  return [
    {
      name: 'makes three events of three, each with a body of its own, and none of none',
      run: async () => {
        const delivery = deliverBatch(keys.slice(0, 3))
        const events = source.identify(delivery)
        const bodies = events.map(({ body }) => Buffer.from(body ?? []).toString())
        const { ok } = await source.verify(delivery)
        return [
          ...unless(ok, 'a signed batch is refused'),
          ...unless(new Set(events.map(identityOf)).size === 3, 'three events have not three keys'),
          ...unless(new Set(bodies).size === 3, 'three events have not three bodies'),
          ...unless(bodies.every(isJson), 'the body of an event is not JSON'),
          ...unless(source.identify(deliverBatch([])).length === 0, 'an empty batch has events'),
        ]
      },
    },
    one.retryIsSameEvent === false
      ? {
          name: 'finds all events of a retry new',
          run: () => {
            const first = fingerprintsOf(source, deliverBatch(keys.slice(0, 3)))
            const retry = fingerprintsOf(source, deliverBatch(keys.slice(0, 3), 60))
            return [
              ...unless(retry.length === 3, 'the retry of a batch has not as many events'),
              ...unless(
                !retry.some((event) => first.includes(event)),
                'an event of a retry is taken for a known one',
              ),
            ]
          },
        }
      : {
          name: 'finds the events of a retry known, and of a regrouped one only the new ones new',
          run: () => {
            const first = fingerprintsOf(source, deliverBatch(keys.slice(0, 3)))
            const again = fingerprintsOf(source, deliverBatch(keys.slice(0, 3), 60))
            const [second, third, fourth] = fingerprintsOf(source, deliverBatch(keys.slice(1), 60))
            return [
              ...unless(isDeepStrictEqual(again, first), 'the retry of a batch has other events'),
              ...unless(
                second === first[1] && third === first[2],
                'an event is another one in a batch of others',
              ),
              ...unless(
                !first.includes(fourth ?? ''),
                'a new event in a batch is taken for a known one',
              ),
            ]
          },
        },
  ]
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}

async function checkHandshake(
  { own, make, deliver }: Subject,
  { deliver: write, answer, options }: HandshakeCase,
): Promise<Problems> {
  const source = make(own, options)
  const delivery: Delivery = {
    method: 'POST',
    url: '/',
    headers: {},
    body: new Uint8Array(),
    receivedAt: CHECKED_AT,
    ...write((event) => deliver(event)),
  }
  const result = await greet(source, delivery)
  return [
    ...unless(
      source.methods?.includes(delivery.method) === true,
      `${delivery.method} is not let in`,
    ),
    ...unless(
      isAsAnswered(result, answer),
      `answered ${JSON.stringify(result) ?? 'nothing'} and not ${JSON.stringify(answer)}`,
    ),
  ]
}

/** As `admit` does it: before the signature, the signature, after it. */
async function greet(source: Source, delivery: Delivery): Promise<HandshakeResult> {
  const first = await source.handshake?.(delivery, 'unverified')
  if (first !== undefined) return first
  const verdict = await source.verify(delivery)
  return verdict.ok ? source.handshake?.(delivery, 'verified') : 'refuse'
}

/** What the case names is as it says; what it leaves out may be anything. */
function isAsAnswered(result: HandshakeResult, answer: HandshakeCase['answer']): boolean {
  if (answer === 'refuse' || result === 'refuse' || result === undefined) return result === answer
  return (
    result.status === answer.status &&
    (answer.body === undefined || result.body === answer.body) &&
    Object.entries(answer.headers ?? {}).every(([name, value]) => result.headers[name] === value)
  )
}
