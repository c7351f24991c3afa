/**
 * Where a value of an event is found, where one locator is not enough:
 *
 *     'json:$.id'                                     one place (see `json-path.ts`)
 *     ['json:$.id', 'header:x-id']                    the first that has something
 *     { all: ['json:$.event', 'json:$.data.id'] }     all of them, as one text: `a|b`
 *     { all: ['json:$.id', { optional: 'json:$.v' }]} a part that may be missing
 *     { join: ['json:$.kind', 'json:$.action'], with: '.' }   those that are there, as they are
 *     (reading) => …                                  code, where nothing else will do
 *
 * `all` is for keys: a missing part means that there is no key, and no two lists of parts read the
 * same, because `|` and `%` inside of a part are escaped. `join` is for types.
 *
 * @module
 */

import { OptionInvalidError } from '../errors.ts'
import { compileLocator } from './json-path.ts'
import type { Reading } from './json-path.ts'

/** Where a value of an event is: one place, the first of several, several as one, or code. */
export type Place =
  | string
  | readonly Place[]
  | { readonly all: readonly (Place | { readonly optional: Place })[] }
  | { readonly join: readonly Place[]; readonly with: string }
  | ((reading: Reading) => string | undefined)

export interface CompiledPlace {
  /** The headers it reads, in lower case. */
  readonly headers: readonly string[]
  /** Whether any part of it is read from the URL's query. */
  readonly readsQuery: boolean
  /** Never an empty text. */
  find(reading: Reading): string | undefined
}

export function compilePlace(option: string, place: Place): CompiledPlace {
  if (typeof place === 'function')
    return { headers: [], readsQuery: false, find: (reading) => place(reading) || undefined }
  if (typeof place === 'string') {
    const locator = compileLocator(option, place)
    const headers = locator.header === undefined ? [] : [locator.header]
    const readsQuery = locator.readsQuery === true
    return { headers, readsQuery, find: (reading) => locator.find(reading) }
  }
  if (isList(place)) return firstOf(compileAll(option, place))
  if ('all' in place) return allOf(option, place.all)
  if ('join' in place) return joined(compileAll(option, place.join), place.with)
  throw new OptionInvalidError(option, 'a place of an event', place)
}

function isList(place: Place): place is readonly Place[] {
  return Array.isArray(place)
}

function compileAll(option: string, places: readonly Place[]): readonly CompiledPlace[] {
  if (places.length === 0) throw new OptionInvalidError(option, 'at least one place', places)
  return places.map((place, index) => compilePlace(`${option}[${index}]`, place))
}

function firstOf(places: readonly CompiledPlace[]): CompiledPlace {
  return {
    headers: places.flatMap(({ headers }) => headers),
    readsQuery: places.some(({ readsQuery }) => readsQuery),
    find(reading) {
      for (const place of places) {
        const text = place.find(reading)
        if (text !== undefined) return text
      }
      return undefined
    },
  }
}

function allOf(
  option: string,
  places: readonly (Place | { readonly optional: Place })[],
): CompiledPlace {
  const parts = places.map((place, index) => {
    const isOptional = typeof place === 'object' && 'optional' in place
    return {
      isOptional,
      place: compilePlace(`${option}[${index}]`, isOptional ? place.optional : place),
    }
  })
  return {
    headers: parts.flatMap(({ place }) => place.headers),
    readsQuery: parts.some(({ place }) => place.readsQuery),
    find(reading) {
      const texts: string[] = []
      for (const { place, isOptional } of parts) {
        const text = place.find(reading)
        if (text === undefined && !isOptional) return undefined
        texts.push((text ?? '').replace(/[%|]/g, (mark) => (mark === '%' ? '%25' : '%7C')))
      }
      // All of them optional and none of them there: an event without a key, not one with the key `|`.
      return texts.some((text) => text !== '') ? texts.join('|') : undefined
    },
  }
}

function joined(places: readonly CompiledPlace[], separator: string): CompiledPlace {
  return {
    headers: places.flatMap(({ headers }) => headers),
    readsQuery: places.some(({ readsQuery }) => readsQuery),
    find: (reading) =>
      places
        .map((place) => place.find(reading))
        .filter((text) => text !== undefined)
        .join(separator) || undefined,
  }
}
