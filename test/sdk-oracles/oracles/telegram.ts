import { load, memberOf } from '../oracle.ts'
import type { SdkOracle } from '../oracle.ts'

interface Sdk {
  readonly Bot: new (token: string, options: { botInfo: object }) => object
  webhookCallback(
    bot: object,
    adapter: 'std/http',
    options: { secretToken: string },
  ): (request: Request) => Promise<Response>
}

/** A library of others: Telegram has none. */
export const ORACLE: SdkOracle = {
  slug: 'telegram',
  packages: ['grammy'],
  secrets: ['A-secret_token-of-ours-0001', 'A-secret_token-of-ours-0002'],
  bodyIsUnsigned: 'Telegram shows a token and signs nothing',
  sign: ({ headers }, { secret }) => ({
    headers: { ...headers, 'x-telegram-bot-api-secret-token': secret },
  }),
  verify: async ({ headers, body }, { secret, publicUrl }) => {
    const sdk = await load<Record<string, unknown>>('grammy')
    const Bot = memberOf<Sdk['Bot']>(sdk, 'Bot')
    const webhookCallback = memberOf<Sdk['webhookCallback']>(sdk, 'webhookCallback')
    const botInfo = { id: 1, is_bot: true, first_name: 'a', username: 'a_bot' }
    const answer = webhookCallback(new Bot('1:unused', { botInfo }), 'std/http', {
      secretToken: secret,
    })
    return (await answer(new Request(publicUrl, { method: 'POST', headers, body }))).ok
  },
}
