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
 * @throws OptionInvalidError for a type without a sample where no body is given
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
    // What a sample with its key in a header has of it in the body only tells samples apart.
    const isInHeader = isReadFromHeaders(fixture.provider.definition.key)
    for (const [path, value] of isInHeader ? [] : places) put(body, path, value)
  }
  if (type !== undefined) {
    // Where it cannot be put, the body may say it all the same: `requireIdentity` looks.
    const places = listPlaces(make, sample, { type: `0${type}0` })
    for (const [path, value] of places) put(body, path, value)
  }
  return { ...event, body }
}

/** Whether the key of a provider's events is in no body. */
export function isReadFromHeaders(key: ProviderDefinition['key']): boolean {
  const places = [key].flat()
  return places.every((one) => typeof one === 'string' && one.startsWith('header:'))
}

type Path = readonly (string | number)[]

type Placed = readonly [path: Path, value: unknown]

/** Where the body of a sample has what makes it differ from another, and what is there. */
function listPlaces(
  make: (event: FixtureEvent) => FixtureContent,
  sample: FixtureEvent,
  other: Partial<FixtureEvent>,
): readonly Placed[] {
  const [own, again, changed] = [sample, sample, { ...sample, ...other }].map(
    (event) => make(event).body,
  )
  // What differs from one sample to the next is made up, such as a random id.
  const madeUp = new Set(listDifferences(own, again).map(([path]) => JSON.stringify(path)))
  return listDifferences(own, changed).filter(([path]) => !madeUp.has(JSON.stringify(path)))
}

/** The values of one that the other does not have at the same place. */
function listDifferences(one: unknown, other: unknown, path: Path = []): readonly Placed[] {
  if (!isContainer(one)) return Object.is(one, other) ? [] : [[path, one]]
  const others = isContainer(other) ? other : {}
  return Object.entries(one).flatMap(([name, value]) => {
    const step = Array.isArray(one) ? Number(name) : name
    return listDifferences(value, (others as Record<string, unknown>)[name], [...path, step])
  })
}

/**
 * Refuses a key or a type that could not be put into a body of the caller's, and is not what it says.
 *
 * @throws OptionInvalidError
 */
export function requireIdentity(
  { provider: { definition } }: ProviderFixture,
  { key, type, ...event }: SignedEvent,
  delivery: Delivery,
  { publicUrl, options }: Credentials,
): void {
  if (!('body' in event)) return
  const identification = compileIdentification(definition.provider, definition)
  const events = identification.identify(delivery, { ...options, publicUrl })
  // Of a key that is more than the id, the id is a part.
  if (
    key !== undefined &&
    !isContainer(event.body) &&
    !events.some((one) => one.key?.includes(key))
  )
    throw new OptionInvalidError('sign.key', 'left out, or what this body says', key)
  if (type !== undefined && !events.some((one) => one.type === type))
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
