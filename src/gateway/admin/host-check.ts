/**
 * Which names the admin listener answers to.
 *
 * A page of another site can have its own name lead to 127.0.0.1, and its scripts then speak to this listener as to
 * their own site. What such a request cannot hide is the name: it stands in `Host`. A request whose `Origin` is
 * another site is refused as well.
 *
 * @module
 */

import type { IncomingMessage } from 'node:http'
import { refuseRequest } from './problem.ts'
import type { Problem } from './problem.ts'

const LOOPBACK_NAMES = ['localhost', '127.0.0.1', '[::1]']

/** Whether only this machine can reach a listener that is bound to it. */
export function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || /^127\.\d{1,3}\.\d{1,3}\.\d{1,3}$/.test(host)
}

/** Says why a request is refused for where it was sent, or where it came from. */
export function createHostCheck(
  boundHost: string,
  hosts: readonly string[],
): (request: IncomingMessage) => Problem | undefined {
  const named = new Set(hosts.map(asHostname))
  const known = new Set([...LOOPBACK_NAMES, asHostname(boundHost), ...named])
  return ({ headers, headersDistinct, socket }) => {
    // Of two, a proxy may have believed the other one.
    const { host: said = [] } = headersDistinct
    const name = said.length === 1 ? hostnameOf(said[0]) : undefined
    // An address cannot be made to lead elsewhere, so that the one it came to is as good as a name.
    const own = socket.localAddress === undefined ? undefined : asHostname(socket.localAddress)
    if (name === undefined || !(known.has(name) || name === own))
      return refuseRequest(
        421,
        'The admin API is not reached by this name. Add it to admin.hosts, if it is yours.',
      )
    const { origin } = headers
    if (origin !== undefined && !isOwnOrigin(origin, headers.host ?? '', named))
      return refuseRequest(403, 'The admin API answers no page of another site.')
    return undefined
  }
}

/** An address of IPv6 stands in brackets, and one of IPv4 in IPv6 is one of IPv4. */
function asHostname(host: string): string {
  const lower = host.toLowerCase().replace(/^::ffff:(?=\d)/, '')
  return lower.includes(':') && !lower.startsWith('[') ? `[${lower}]` : lower
}

function hostnameOf(header: string | undefined): string | undefined {
  return /^(\[[0-9a-f:.]+\]|[^:@/\s]+)(?::\d{1,5})?$/i.exec(header ?? '')?.[1]?.toLowerCase()
}

/** The same host and port; or, where a proxy changes `Host`, a name that the config has. Other ports of this machine are not. */
function isOwnOrigin(origin: string, host: string, named: ReadonlySet<string>): boolean {
  if (!URL.canParse(origin)) return false
  const from = new URL(origin)
  return from.host === host.toLowerCase() || named.has(from.hostname)
}
