import { asError, OptionInvalidError } from '../errors.ts'

/** What the library says of an option, where a flag stands for that option. */
export function inWordsOfFlags(error: unknown): string {
  const { message } = asError(error)
  if (!(error instanceof OptionInvalidError)) return message
  const { option } = error
  const [about = '', ...rest] = option.split('.')
  const flag = FLAGS[option] ?? (LIBRARY.includes(about) ? FLAGS[rest.at(-1) ?? ''] : undefined)
  return flag === undefined ? message : message.replace(option, flag)
}

const LIBRARY = ['admin', 'inbox', 'githubDeliveries', 'shopifyResources', 'stripeEvents']

/** By the whole name of an option, or by what it ends with. */
const FLAGS: Readonly<Record<string, string>> = {
  accessToken: '--key',
  account: '--account',
  actor: '--actor',
  apiKey: '--key',
  apiVersion: '--api-version',
  baseUrl: '--api-url',
  cursor: '--cursor',
  'githubDeliveries.token': '--key',
  hookId: '--hook-id',
  of: '--of',
  ratePerSecond: '--rate',
  reason: '--reason',
  resources: '--resource',
  shop: '--shop',
  since: '--since',
  token: '--request-token',
  'token.name': '--name',
  types: '--type',
  until: '--until',
}
