import { DestinationBlockedError } from '../errors.ts'
import type { BlockReason } from './check-url.ts'

/** The error for a destination that is not connected to, with what to do where it is meant all the same. */
export function blockedError(host: string, reason: BlockReason): DestinationBlockedError {
  return new DestinationBlockedError(host, reason, adviceFor(host, reason))
}

function adviceFor(host: string, reason: BlockReason): string {
  switch (reason) {
    case 'url':
    case 'credentials':
    case 'unresolved':
    case 'socket':
    case 'malformed':
      return ''
    case 'scheme':
      return `. It must begin with https:, or with http: where the option allow names the host: allow: [${JSON.stringify(host)}]`
    case 'metadata':
      return '. If this is meant, name its address, not its host, in the option allow'
    default:
      return `. If this is meant, name it in the option allow: [${JSON.stringify(host)}]`
  }
}
