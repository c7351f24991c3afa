import { OptionInvalidError } from '../../errors.ts'

/** For senders that sign the URL they call. */
export interface PublicUrlOptions {
  /**
   * The URL as the sender has it, byte for byte. From the configuration, because behind a proxy nothing
   * in a request says it, and what says it (`Host`, `X-Forwarded-…`) is the request's to choose.
   */
  readonly publicUrl: string
}

export function requirePublicUrl(provider: string, value: unknown): string {
  // Not normalised: senders sign the text, and `https://a` and `https://a/` are two texts.
  if (typeof value === 'string' && URL.canParse(value) && /^https?:\/\//.test(value)) return value
  throw new OptionInvalidError(
    `${provider}.publicUrl`,
    'the URL that the sender calls, such as https://example.com/in/source',
    value,
  )
}
