/**
 * Several configs on top of each other, and for each value where it came from.
 *
 * Objects are merged key by key; anything else, lists as well, is replaced whole.
 *
 * @module
 */

/** One place that says something: a file, the environment, flags. */
export interface ConfigLayer {
  /** As a person would call it: `hookonce.config.ts`, `HOOKONCE_STORE`, `--store`. By value where they differ. */
  readonly origin: string | ReadonlyMap<string, string>
  readonly value: Readonly<Record<string, unknown>>
}

/** What the layers say together. */
export interface MergedLayers {
  readonly value: Record<string, unknown>
  /** By the path of the value, such as `receive.port`. */
  readonly origins: ReadonlyMap<string, string>
}

/** The later a layer, the more it counts. */
export function mergeLayers(layers: readonly ConfigLayer[]): MergedLayers {
  const value: Record<string, unknown> = {}
  const origins = new Map<string, string>()
  for (const layer of layers) mergeInto(value, layer.value, [], layer.origin, origins)
  return { value, origins }
}

function mergeInto(
  target: Record<string, unknown>,
  given: Readonly<Record<string, unknown>>,
  path: readonly string[],
  origin: ConfigLayer['origin'],
  origins: Map<string, string>,
): void {
  for (const [key, value] of Object.entries(given)) {
    const here = [...path, key]
    if (isPlainObject(value)) {
      const known = Object.hasOwn(target, key) ? target[key] : undefined
      const merged: Record<string, unknown> = isPlainObject(known) ? { ...known } : {}
      define(target, key, merged)
      mergeInto(merged, value, here, origin, origins)
    } else {
      define(target, key, value)
      origins.set(here.join('.'), originOf(origin, here.join('.')))
    }
  }
}

function originOf(origin: ConfigLayer['origin'], path: string): string {
  return typeof origin === 'string' ? origin : (origin.get(path) ?? '')
}

/** Not an assignment, by which a key `__proto__` of a JSON file would change what every object has. */
function define(target: Record<string, unknown>, key: string, value: unknown): void {
  Object.defineProperty(target, key, {
    value,
    enumerable: true,
    configurable: true,
    writable: true,
  })
}

/** What is merged; a date, a list, a function and a provider are not. */
export function isPlainObject(value: unknown): value is Record<string, unknown> {
  return (
    typeof value === 'object' &&
    value !== null &&
    [Object.prototype, null].includes(Object.getPrototypeOf(value) as object | null)
  )
}
