/**
 * Puts the key and the type of an event into a body of the caller's, where the provider has them.
 *
 * Where that is, the provider's sample payload shows: made with two keys, it differs there and nowhere else.
 *
 * @module
 */

import { OptionInvalidError } from '../errors.ts'
import type { Delivery } from '../model/delivery.ts'
import type { ProviderDefinition } from '../providers/index.ts'
import { compileIdentification } from '../providers/identification.ts'
import type { Credentials, FixtureContent, FixtureEvent, ProviderFixture } from './fixture.ts'
import type { SignedEvent } from './signed-event.ts'

/**
 * The event with its key and type in its body.
 *
 * @throws OptionInvalidError for a type without a sample where no body is given, and for a key or type that
 * cannot be put into the body that is
 */
export function placeIdentity(fixture: ProviderFixture, event: SignedEvent): SignedEvent {
  const types = Object.keys(fixture.events)
  const { type, key } = event
  if (!('body' in event)) {
    if (type === undefined || Object.hasOwn(fixture.events, type)) return event
    const known = types.map((name) => JSON.stringify(name)).join(', ')
    throw new OptionInvalidError('sign.type', `one of ${known}, or have a body beside it`, type)
  }
  const make = fixture.events[type ?? types[0] ?? ''] ?? fixture.events[types[0] ?? '']
  if (make === undefined) return event
  const sample = { key: key ?? 'key', type: type ?? types[0] ?? '', at: event.at ?? new Date(0) }
  const body = clone(event.body)
  if (key !== undefined) {
    const places = listPlaces(make, sample, { key: `${key}0` })
    // What such a sample has of its key in the body only tells samples apart.
    const inBody = isReadFromHeaders(fixture.provider.definition.key) ? [] : places.inBody
    placeKey({ ...places, inBody }, body, key)
  }
  if (type !== undefined) {
    // Where it cannot be put, the body may say it all the same: `requireType` looks.
    const { inBody } = listPlaces(make, sample, { type: `0${type}0` })
    for (const [path, value] of inBody) put(body, path, value)
  }
  return { ...event, body }
}

function isReadFromHeaders(key: ProviderDefinition['key']): boolean {
  const places = [key].flat()
  return places.every((one) => typeof one === 'string' && one.startsWith('header:'))
}

type Path = readonly (string | number)[]

/** Where a sample has something, and what is there. */
interface Places {
  readonly inBody: readonly (readonly [path: Path, value: unknown])[]
  readonly inHeaders: boolean
}

function listPlaces(
  make: (event: FixtureEvent) => FixtureContent,
  sample: FixtureEvent,
  other: Partial<FixtureEvent>,
): Places {
  const [own, again, changed] = [make(sample), make(sample), make({ ...sample, ...other })]
  // What differs from one sample to the next is made up, such as a random id.
  const madeUp = new Set(listDifferences(own, again).map(([path]) => JSON.stringify(path)))
  const differences = listDifferences(own, changed).filter(
    ([path]) => !madeUp.has(JSON.stringify(path)),
  )
  return {
    inBody: differences.flatMap(([[root, ...path], value]) =>
      root === 'body' ? [[path, value] as const] : [],
    ),
    inHeaders: differences.some(([[root]]) => root === 'headers'),
  }
}

/** The values of one that the other does not have at the same place. */
function listDifferences(
  one: unknown,
  other: unknown,
  path: Path = [],
): readonly (readonly [path: Path, value: unknown])[] {
  if (!isContainer(one)) return Object.is(one, other) ? [] : [[path, one]]
  const others = isContainer(other) ? other : {}
  return Object.entries(one).flatMap(([name, value]) => {
    const step = Array.isArray(one) ? Number(name) : name
    return listDifferences(value, (others as Record<string, unknown>)[name], [...path, step])
  })
}

/** Puts the key into the body, if it belongs there. Text and bytes stay as they are: a header may have it. */
function placeKey({ inBody, inHeaders }: Places, body: unknown, key: string): void {
  const isPlaced = inBody.every(([path, value]) => put(body, path, value))
  if (inHeaders || (isPlaced && inBody.length > 0)) return
  throw new OptionInvalidError(
    'sign.key',
    'left out, since it cannot be put into this body: write it there',
    key,
  )
}

/** Refuses a type that a body of the caller's does not say. */
export function requireType(
  { provider }: ProviderFixture,
  { type, ...event }: SignedEvent,
  delivery: Delivery,
  { publicUrl, options }: Credentials,
): void {
  if (type === undefined || !('body' in event)) return
  const { definition } = provider
  const events = compileIdentification(definition.provider, definition).identify(delivery, {
    ...options,
    publicUrl,
  })
  if (events.some((one) => one.type === type)) return
  throw new OptionInvalidError('sign.type', 'left out, or what this body says', type)
}

/** Whether it could be put there. Objects and lists on the way are made where there is nothing. */
function put(body: unknown, path: Path, value: unknown): boolean {
  let at = body
  for (const [depth, step] of path.entries()) {
    if (!isContainer(at) || Array.isArray(at) !== (typeof step === 'number')) return false
    const members = at as Record<string | number, unknown>
    const next = path[depth + 1]
    if (next === undefined) members[step] = value
    else members[step] ??= typeof next === 'number' ? [] : {}
    at = members[step]
  }
  return path.length > 0
}

function isContainer(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !(value instanceof Uint8Array)
}

function clone(body: unknown): unknown {
  return isContainer(body) ? structuredClone(body) : body
}
