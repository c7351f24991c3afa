/**
 * Node's agents, which connect to nothing but what the check lets through.
 *
 * @module
 */

import http from 'node:http'
import https from 'node:https'
import type { LookupFunction } from 'node:net'
import type { Duplex } from 'node:stream'
import type { ConnectionCheck, ConnectionTarget } from './connection-check.ts'

/** An agent for `http:` and one for `https:` that connect to nothing unchecked. */
export function createCheckedAgents(
  check: ConnectionCheck,
  agentOptions: http.AgentOptions = {},
): { readonly http: http.Agent; readonly https: https.Agent } {
  return {
    http: checkConnections(new http.Agent(agentOptions), check),
    // Said here, because left out it is the environment's to say (NODE_TLS_REJECT_UNAUTHORIZED=0).
    https: checkConnections(new https.Agent({ ...agentOptions, rejectUnauthorized: true }), check),
  }
}

type Connect = (
  options: ConnectionTarget & { readonly lookup?: LookupFunction },
  callback?: (error: Error | null, socket?: Duplex) => void,
) => Duplex | null | undefined

/** By replacing the one method through which an agent makes connections, of either kind. */
function checkConnections<A extends http.Agent>(
  agent: A,
  { findRefusal, lookup }: ConnectionCheck,
): A {
  const connect = agent.createConnection.bind(agent) as Connect
  const connectChecked: Connect = (target, callback) => {
    const refusal = findRefusal(target)
    if (refusal === undefined) return connect({ ...target, lookup }, callback)
    process.nextTick(() => callback?.(refusal))
    return undefined
  }
  return Object.assign(agent, { createConnection: connectChecked })
}
