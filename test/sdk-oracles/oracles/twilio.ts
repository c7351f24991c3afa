import { header, load, memberOf } from '../oracle.ts'
import type { OracleRequest, SdkOracle } from '../oracle.ts'

type Params = Readonly<Record<string, string>>
interface Sdk {
  readonly sign: (token: string, url: string, params: Params) => string
  readonly hashBody: (body: string) => string
  readonly verify: (token: string, signature: string, url: string, params: Params) => boolean
  readonly verifyBody: (token: string, signature: string, url: string, body: string) => boolean
}

async function twilio(): Promise<Sdk> {
  const sdk = await load<Record<string, unknown>>('twilio')
  return {
    sign: memberOf(sdk, 'getExpectedTwilioSignature'),
    hashBody: memberOf(sdk, 'getExpectedBodyHash'),
    verify: memberOf(sdk, 'validateRequest'),
    verifyBody: memberOf(sdk, 'validateRequestWithBody'),
  }
}

/** Event Streams sends JSON, and the hash of it in the query; all else is a form. */
const isJson = ({ body }: OracleRequest) => body.startsWith('[')
const paramsOf = ({ body }: OracleRequest) => Object.fromEntries(new URLSearchParams(body))
const queryOf = ({ url }: OracleRequest) => /\?.*$/.exec(url)?.[0] ?? ''

export const ORACLE: SdkOracle = {
  slug: 'twilio',
  packages: ['twilio'],
  signsUrl: true,
  fixtureOnly: 'the fields of a form are signed, in order; lists are signed by their hash',
  sign: async (request, { secret, publicUrl }) => {
    const { sign, hashBody } = await twilio()
    const query = isJson(request) ? `?bodySHA256=${hashBody(request.body)}` : ''
    const signature = sign(secret, publicUrl + query, isJson(request) ? {} : paramsOf(request))
    return {
      url: `/in/source${query}`,
      headers: { ...request.headers, 'x-twilio-signature': signature },
    }
  },
  verify: async (request, { secret, publicUrl }) => {
    const { verify, verifyBody } = await twilio()
    const signature = header(request, 'x-twilio-signature')
    const url = publicUrl + queryOf(request)
    return isJson(request)
      ? verifyBody(secret, signature, url, request.body)
      : verify(secret, signature, url, paramsOf(request))
  },
}
