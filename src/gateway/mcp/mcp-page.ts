import type { Page } from '../admin/page.ts'
import type { McpAnswerTerms } from './mcp-answer-terms.ts'

/**
 * `POST /mcp`: the same functions for models, behind the same checks.
 *
 * What answers it is loaded with the first request: the SDK takes 0.13 s of the processor, and most gateways never need it.
 */
export function mcpPage(terms: McpAnswerTerms): Page {
  let loaded: Promise<Page['answer']> | undefined
  const load = async (): Promise<Page['answer']> => {
    const { createMcpAnswer } = await import('./answer-mcp.ts')
    return createMcpAnswer(terms)
  }
  return {
    method: 'POST',
    path: '/mcp',
    role: 'viewer',
    answer: async (asked) => (await (loaded ??= load()))(asked),
  }
}
