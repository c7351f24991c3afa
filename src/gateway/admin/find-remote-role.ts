import { z } from 'zod'
import { HookonceError } from '../../errors.ts'
import { callGateway } from './call-gateway.ts'
import { resolveGateway } from './remote-operator.ts'
import type { RemoteOperatorOptions } from './remote-operator.ts'
import { ROLES } from './roles.ts'
import type { Role } from './roles.ts'
import { BASE_PATH } from './routes.ts'

const session = z.object({ role: z.enum(ROLES) })

/**
 * What a token may do, as its gateway says now.
 *
 * @throws OptionInvalidError; HookonceError GATEWAY_UNAVAILABLE, ACCESS_DENIED
 */
export async function findRemoteRole(
  options: RemoteOperatorOptions,
  signal: AbortSignal,
): Promise<Role> {
  const call = { method: 'GET', path: `${BASE_PATH}/session` } as const
  const called = await callGateway({ ...resolveGateway(options), signal }, call)
  const read =
    called.status === 'answered' ? session.safeParse(JSON.parse(called.body.toString())) : undefined
  if (read?.success === true) return read.data.role
  throw new HookonceError(
    'GATEWAY_FAILED',
    'The gateway does not say what the token may do. Use the command in the version of the gateway',
  )
}
