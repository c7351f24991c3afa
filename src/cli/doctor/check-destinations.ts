import { connect } from 'node:net'
import { asError } from '../../errors.ts'
import type { ResolvedConfig } from '../../gateway/config/schema.ts'
import type { Finding } from './finding.ts'

const PATIENCE_MS = 3_000

/** Whether something listens there. Nothing is sent: a service must not take a check for an event. */
export async function checkDestinations({
  destinations,
}: Pick<ResolvedConfig, 'destinations'>): Promise<readonly Finding[]> {
  return Promise.all(
    Object.entries(destinations).map(async ([name, { url }]): Promise<Finding> => {
      const check = `destination ${name}`
      try {
        const { hostname, port, protocol, host } = new URL(url)
        await reach(
          hostname.replace(/^\[|\]$/g, ''),
          Number(port) || (protocol === 'http:' ? 80 : 443),
        )
        return { level: 'ok', check, message: `${host} can be reached` }
      } catch (error) {
        return {
          level: 'warning',
          check,
          message: `cannot be reached: ${asError(error).message}`,
          advice: 'Its events are kept, and sent when it is back.',
        }
      }
    }),
  )
}

function reach(host: string, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host, port, timeout: PATIENCE_MS })
    socket.once('connect', () => {
      socket.destroy()
      resolve()
    })
    socket.once('timeout', () => socket.destroy(new Error(`no answer within ${PATIENCE_MS} ms`)))
    socket.once('error', reject)
  })
}
