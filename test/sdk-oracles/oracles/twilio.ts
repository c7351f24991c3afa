import { header, load, memberOf } from '../oracle.ts'
import type { OracleRequest, SdkOracle } from '../oracle.ts'

type Params = Readonly<Record<string, string>>
type GetSignature = (token: string, url: string, params: Params) => string
type ValidateRequest = (token: string, signature: string, url: string, params: Params) => boolean

const twilio = () => load<Record<string, unknown>>('twilio')
const paramsOf = ({ body }: OracleRequest) => Object.fromEntries(new URLSearchParams(body))

export const ORACLE: SdkOracle = {
  slug: 'twilio',
  packages: ['twilio'],
  signsUrl: true,
  sample: 'MessageSid=SM00000000000000000000000000000001&From=%2B15005550006&Body=Zo%C3%AB',
  contentType: 'application/x-www-form-urlencoded; charset=UTF-8',
  sampleOnly: 'a form: its fields are signed, in order',
  sign: async (request, { secret, publicUrl }) => {
    const getSignature = memberOf<GetSignature>(await twilio(), 'getExpectedTwilioSignature')
    const signature = getSignature(secret, publicUrl, paramsOf(request))
    return { headers: { ...request.headers, 'x-twilio-signature': signature } }
  },
  verify: async (request, { secret, publicUrl }) =>
    memberOf<ValidateRequest>(await twilio(), 'validateRequest')(
      secret,
      header(request, 'x-twilio-signature'),
      publicUrl,
      paramsOf(request),
    ),
}
