/**
 * Whether the process lives and works, for the supervisor that starts it again or waits for it: also of a process that receives nothing.
 *
 * They need no token, because a supervisor has none, and say a word and nothing else. The name that they are reached by
 * is looked at as for every path.
 *
 * @module
 */

import type { ServerResponse } from 'node:http'
import type { Readiness } from '../../http/readiness.ts'
import type { Page } from './page.ts'
import { SAFE_HEADERS } from './send-answer.ts'

/** `GET /healthz` and `GET /readyz`, and the same for a supervisor that asks with `HEAD`. */
export function healthPages(readiness: () => Readiness): readonly Page[] {
  const methods = ['GET', 'HEAD'] as const
  return methods.flatMap((method): readonly Page[] => {
    const common = { method, role: undefined }
    return [
      { ...common, path: '/healthz', answer: ({ response }) => send(response, 200, 'ok') },
      {
        ...common,
        path: '/readyz',
        answer: ({ response }) => {
          const status = readiness()
          send(response, status === 'not ready' ? 503 : 200, status)
        },
      },
    ]
  })
}

function send(response: ServerResponse, status: 200 | 503, word: string): void {
  response.writeHead(status, { ...SAFE_HEADERS, 'content-type': 'application/json' })
  response.end(JSON.stringify({ status: word }))
}
