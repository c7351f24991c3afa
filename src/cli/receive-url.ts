import type { ResolvedConfig } from '../gateway/config/schema.ts'

/** Where a sender on this machine reaches a source. */
export function urlOf(
  { host, port }: Pick<ResolvedConfig['receive'], 'host' | 'port'>,
  source: string,
): string {
  const reached = ['0.0.0.0', '::'].includes(host) ? '127.0.0.1' : host
  return `http://${reached.includes(':') ? `[${reached}]` : reached}:${port}/in/${source}`
}
