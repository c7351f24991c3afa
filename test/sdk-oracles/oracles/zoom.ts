import { hmac, load, seconds } from '../oracle.ts'
import type { SdkOracle } from '../oracle.ts'

interface Sdk {
  readonly AwsLambdaReceiver: new (options: { webhooksSecretToken: string }) => {
    start(): (event: object, context: object) => Promise<{ statusCode: number }>
  }
}

export const ORACLE: SdkOracle = {
  slug: 'zoom',
  packages: ['@zoom/rivet'],
  fixtureOnly: 'the library writes the JSON anew before it hashes it',
  sign: (request, { secret }) => ({
    headers: {
      ...request.headers,
      'x-zm-request-timestamp': seconds(request),
      'x-zm-signature': `v0=${hmac(secret, `v0:${seconds(request)}:${request.body}`)}`,
    },
  }),
  verify: async ({ headers, body }, { secret }) => {
    const { AwsLambdaReceiver } = await load<Sdk>('@zoom/rivet/meetings')
    const receive = new AwsLambdaReceiver({ webhooksSecretToken: secret }).start()
    return (await receive({ headers, body, isBase64Encoded: false }, {})).statusCode === 200
  },
}
