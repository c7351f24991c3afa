/**
 * A call of a tool: what the operator returns, or why there is nothing.
 *
 * Whatever is refused is an answer that the model reads, with what to do instead. An error of the protocol would be
 * shown to its client, and the model would try the same again.
 *
 * @module
 */

import type { Operator } from '../../index.ts'
import { callRoute } from '../admin/call-route.ts'
import { problemOfError } from '../admin/problem.ts'
import type { Problem } from '../admin/problem.ts'
import { isEnough } from '../admin/roles.ts'
import type { Role } from '../admin/roles.ts'
import { readArguments } from './read-arguments.ts'
import type { Tool } from './tools.ts'
import { writeAnswer } from './write-answer.ts'

/** What a model reads, and whether it is what it has asked for. */
export interface ToolAnswer {
  readonly isError: boolean
  readonly text: string
}

export interface ToolCall {
  readonly operator: () => Operator
  /** What the client may do now. Rejects where that cannot be found out. */
  readonly role: () => Promise<Role>
  /** What the audit calls them. */
  readonly actor: string | undefined
  /** Told of what was not foreseen. */
  readonly onError: (error: unknown) => void
}

/** Never rejects. */
export async function callTool(call: ToolCall, tool: Tool, said: unknown): Promise<ToolAnswer> {
  let isBegun = false
  try {
    const held = await call.role()
    if (!isEnough(held, tool.role)) return fail(describeRole(tool, held))
    const { withPayload, ...given } = readArguments(tool, said)
    const operator = call.operator()
    isBegun = tool.route.method === 'POST'
    const called = await callRoute(operator, tool.route, { ...given, actor: () => call.actor })
    if (called.status === 'problem') return fail(describeRefusal(called.problem))
    return { isError: false, text: writeAnswer(called.result, { withPayload }) }
  } catch (error) {
    const problem = problemOfError(error)
    if (problem.status < 500) return fail(describeRefusal(problem))
    call.onError(error)
    return fail(describeFailure(problem, isBegun))
  }
}

function fail(text: string): ToolAnswer {
  return { isError: true, text }
}

/** It asks for a person, and not for a way around: what a model has read may be what makes it want more. */
function describeRole({ name, role: needed }: Tool, role: Role): string {
  return `Refused (ROLE_TOO_LOW): ${name} needs the role ${needed}, and this connection has the role ${role}. Nothing was changed. Instead: tell the person what you would do and why. Whether it is allowed is theirs to decide.`
}

function describeRefusal({ code, detail, more = {} }: Problem): string {
  const instead = code === 'NOT_FOUND' ? FIND_IT : more['instead']
  const advice = typeof instead === 'string' ? ` Instead: ${instead}` : ''
  return `Refused (${code}): ${asSentence(detail)} Nothing was changed.${advice}`
}

const FIND_IT =
  'look for it with find, which takes the id of an event, or the key that its sender knows it by.'

/** An answer of the database may be what was lost. */
function describeFailure({ code, detail, more = {} }: Problem, isBegun: boolean): string {
  const outcome = isBegun ? 'Whether something was changed is not known.' : 'Nothing was changed.'
  const advice =
    more['retryable'] === true ? ' Instead: try again in a while, with the same arguments.' : ''
  return `Failed (${code}): ${asSentence(detail)} ${outcome}${advice}`
}

function asSentence(text: string): string {
  return text.replace(/[.!?]?$/, '.')
}
