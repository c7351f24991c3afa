import { getInbox } from '../../../lib/inbox.ts'

export const runtime = 'nodejs'

export function POST(request: Request): Promise<Response> {
  return getInbox().fetch('stripe')(request)
}
