import type { AnswerTerms } from '../admin/answer-route.ts'
import type { Role } from '../admin/roles.ts'
import type { ToolCall } from './call-tool.ts'

/** What requests of MCP are answered with. In a file of its own: what answers is loaded later than what knows of it. */
export interface McpAnswerTerms extends AnswerTerms, Pick<ToolCall, 'onError'> {
  /** What a client without a token may do, where none is needed. */
  readonly roleWithoutToken: Role
}
