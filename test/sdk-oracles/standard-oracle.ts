import { hmac, load, seconds } from './oracle.ts'
import type { SdkOracle } from './oracle.ts'

/** The library of Standard Webhooks, which most senders of the scheme build upon. */
export interface StandardLibrary {
  readonly Webhook: new (secret: string) => {
    sign(id: string, at: Date, payload: string): string
    verify(payload: string, headers: Readonly<Record<string, string>>): unknown
  }
}

/** Signs by the library's own `sign`, under the sender's header names. */
export function signStandard(
  names: 'webhook' | 'svix',
  from: 'standardwebhooks' | 'svix' = 'standardwebhooks',
): SdkOracle['sign'] {
  return async (request, { secret }) => {
    const { Webhook } = await load<StandardLibrary>(from)
    const { key, at, body } = request
    return {
      headers: {
        ...request.headers,
        [`${names}-id`]: key,
        [`${names}-timestamp`]: seconds(request),
        [`${names}-signature`]: new Webhook(secret).sign(key, at, body),
      },
    }
  }
}

/** Whether the library believes it; it throws where not. */
export function verifyStandard(
  from: 'standardwebhooks' | 'svix' = 'standardwebhooks',
): SdkOracle['verify'] {
  return async ({ body, headers }, { secret }) => {
    const { Webhook } = await load<StandardLibrary>(from)
    new Webhook(secret).verify(body, headers)
    return true
  }
}

/** One header with an HMAC of the body: the commonest scheme. */
export function signBody(
  name: string,
  {
    prefix = '',
    encoding = 'hex',
  }: { readonly prefix?: string; readonly encoding?: 'hex' | 'base64' } = {},
): SdkOracle['sign'] {
  return ({ headers, body }, { secret }) => ({
    headers: { ...headers, [name]: prefix + hmac(secret, body, 'sha256', encoding) },
  })
}
