import { createHash } from 'node:crypto'
import { HookonceError } from '../errors.ts'
import type { Delivery } from '../model/delivery.ts'
import type { IdentifiedEvent, Source } from '../model/source.ts'
import type { Provider } from '../providers/index.ts'
import type { Configuration, ProviderFixture } from './fixture.ts'
import { madeUpConfiguration } from './made-up-configuration.ts'
import type { ProviderCase } from './provider-case.ts'
import { signFixture } from './sign.ts'
import type { SignedEvent } from './signed-event.ts'

/** A provider made ready to be checked. */
export interface Subject {
  readonly provider: Provider<object>
  readonly one: ProviderCase
  readonly types: readonly string[]
  readonly own: Configuration
  readonly other: Configuration
  readonly make: (configuration: Configuration, more?: object) => Source
  readonly source: Source
  readonly deliver: (event?: SignedEvent, configuration?: Configuration) => Delivery
}

/** What is wrong, in a sentence each; nothing when all is well. */
export type Problems = readonly string[]

/** Something a provider must keep. */
export interface ProviderCheck {
  readonly name: string
  readonly run: () => Problems | Promise<Problems>
}

export const CHECKED_AT = new Date(1_760_000_000_000)

export function makeSubject(provider: Provider<object>, one: ProviderCase): Subject {
  const { verify } = provider.definition
  const own = one.configuration ?? madeUpConfiguration(verify, 0)
  const other = one.otherConfiguration ?? madeUpConfiguration(verify, 1)
  const make = ({ options }: Configuration, more: object = {}): Source =>
    provider({ ...options, ...one.options, ...more })
  return {
    provider,
    one,
    types: Object.keys(one.fixture.events),
    own,
    other,
    make,
    source: make(own),
    deliver: (event = {}, { credentials } = own) =>
      signFixture(
        one.fixture,
        { at: CHECKED_AT, key: sampleKey(one.fixture, 1), ...event },
        credentials,
      ),
  }
}

/** The same keys in every run, in the provider's own shape. */
export function sampleKey({ freshKey }: ProviderFixture, n: number): string {
  const sample = freshKey?.() ?? '00000000-0000-4000-8000-000000000000'
  // One hexadecimal key in some hundreds has no letter in it, and it is no number for that.
  const others = Array.from({ length: 5 }, () => freshKey?.() ?? sample)
  if ([sample, ...others].every((key) => /^\d+$/.test(key))) return String(820_982_911 + n)
  const prefix = /^[a-z]+_/.exec(sample)?.[0] ?? ''
  return freshKey === undefined ? `${sample.slice(0, -1)}${n}` : `${prefix}sample${n}`
}

/** What the store knows an event by. */
export function identityOf(event: IdentifiedEvent | undefined): string {
  return JSON.stringify([event?.key, event?.scope])
}

/** What the store knows an event and its content by. */
export function fingerprintsOf(source: Source, delivery: Delivery): readonly string[] {
  return source.identify(delivery).map((event) => {
    const content = event.content ?? event.body ?? delivery.body
    return `${identityOf(event)} ${createHash('sha256').update(content).digest('hex')}`
  })
}

export function withHeader(
  delivery: Delivery,
  name: string,
  value: string | readonly string[],
): Delivery {
  return { ...delivery, headers: { ...delivery.headers, [name]: value } }
}

/** The headers that the source reads and the delivery has. */
export function listReadHeaders(source: Source, delivery: Delivery): readonly string[] {
  return source.securityHeaders.filter((name) => typeof delivery.headers[name] === 'string')
}

/** The sentence, where something is not as it must be. */
export function unless(isRight: boolean, problem: string): Problems {
  return isRight ? [] : [problem]
}

export function throwsHookonceError(act: () => unknown): boolean {
  try {
    act()
    return false
  } catch (error) {
    return error instanceof HookonceError
  }
}
