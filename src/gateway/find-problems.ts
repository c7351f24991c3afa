/**
 * Why a gateway would refuse a config whose form is right: what it names is not there, or may not be used.
 *
 * @module
 */

import { asError } from '../errors.ts'
import { didYouMean } from '../options/did-you-mean.ts'
import { findTokenProblem } from './admin/build-admin.ts'
import { listDestinationProblems } from './build-destination.ts'
import { findSourceProblems } from './build-sources.ts'
import type { ResolvedConfig } from './config/schema.ts'
import { forwardEvents } from './forward.ts'
import { isStoreUrl, STORE_FORM } from './open-store.ts'

/**
 * All of it. Nothing is connected to. A config that is not whole lacks what has another problem.
 */
export function findStartProblems(
  config: ResolvedConfig,
  { isWhole }: { readonly isWhole: boolean },
): readonly string[] {
  return [
    ...(isWhole ? findNoSource(config) : []),
    ...findSourceProblems(config),
    ...findRouteProblems(config),
    ...findDestinationProblems(config),
    ...findLeaseProblem(config),
    ...findStoreProblem(config),
    ...findTokenProblem(config),
  ]
}

/** A receiver without a source answers every sender that there is nothing here, and the sender may give up. */
function findNoSource({ sources, roles }: ResolvedConfig): readonly string[] {
  if (Object.keys(sources).length > 0 || !roles.includes('receive')) return []
  return [
    'sources: there are none, so that nothing could be received. `hookonce init` writes a first config; `hookonce dev` needs none',
  ]
}

function findDestinationProblems({ destinations }: ResolvedConfig): readonly string[] {
  return Object.entries(destinations).flatMap(([name, given]) =>
    listDestinationProblems(name, given),
  )
}

/** A path that is none would be found out when the gateway is built, and alone. */
function findRouteProblems({ sources, destinations }: ResolvedConfig): readonly string[] {
  return Object.entries(sources).flatMap(([name, source]) => {
    try {
      forwardEvents({ on: () => undefined }, { sources: { [name]: source }, destinations })
      return []
    } catch (error) {
      return [asError(error).message]
    }
  })
}

/** Another process would send a message while the first one still does. */
function findLeaseProblem({ relay, destinations }: ResolvedConfig): readonly string[] {
  const [slowest] = Object.entries(destinations).toSorted(
    ([, one], [, other]) => other.timeoutMs - one.timeoutMs,
  )
  if (slowest === undefined || slowest[1].timeoutMs < relay.leaseMs) return []
  const [name, { timeoutMs }] = slowest
  return [
    `relay.leaseMs: ${relay.leaseMs} must be longer than every timeoutMs; that of destinations.${name} is ${timeoutMs}`,
  ]
}

function findStoreProblem({ store }: ResolvedConfig): readonly string[] {
  return isStoreUrl(store) ? [] : [`store: ${STORE_FORM}`]
}

/** SQLite lets one process write at a time: more of them wait for each other, and are slower than one. */
export function findCrowd({ processes, store }: ResolvedConfig): readonly string[] {
  if (processes === 1 || !store.startsWith('sqlite:')) return []
  return [
    `processes: ${processes} need PostgreSQL. SQLite lets one process write at a time, so that several are slower than one. Leave processes out, or set store to postgres://…`,
  ]
}

/** A forward to a destination that does not exist would be found out by the first event. */
export function findDangling(
  { sources }: Pick<ResolvedConfig, 'sources'>,
  known: readonly string[],
): readonly string[] {
  return Object.entries(sources).flatMap(([name, { forward = [] }]) =>
    forward
      .map((entry) => (typeof entry === 'string' ? entry : entry.to))
      .filter((to) => !known.includes(to))
      .map(
        (to) =>
          `sources.${name}.forward: there is no destination "${to}"${didYouMean(to, known)} There are: ${known.join(', ') || 'none'}`,
      ),
  )
}
