/**
 * What people give as a secret instead of the secret: one with a line end, with quotes, or a key of another kind.
 *
 * @module
 */

/** A secret that may have been meant, and what the given one has beside it. */
export interface MeantSecret {
  readonly what: string
  readonly secret: string
}

export function* listMeantSecrets(secrets: readonly string[]): Generator<MeantSecret> {
  for (const given of secrets) {
    const trimmed = given.trim()
    if (trimmed !== given) yield { what: 'it has a blank or a line end around it', secret: trimmed }
    const bare = trimmed.replaceAll(/^["']|["']$/g, '')
    if (bare !== trimmed) yield { what: 'it has quotes around it', secret: bare }
    if (given.startsWith('whsec_'))
      yield { what: 'it begins with whsec_', secret: given.slice('whsec_'.length) }
    else yield { what: 'whsec_ at its beginning is missing', secret: `whsec_${given}` }
    yield { what: 'it is in base64', secret: Buffer.from(given, 'base64').toString('utf8') }
    if (/^(?:[0-9a-f]{2})+$/i.test(given))
      yield { what: 'it is in hex', secret: Buffer.from(given, 'hex').toString('utf8') }
  }
}

const KEYS_OF_APIS: readonly (readonly [RegExp, string])[] = [
  [
    /^(sk|rk|pk)_(live|test)_/,
    "a key of Stripe's API: the signing secret of an endpoint begins with whsec_",
  ],
  [
    /^(gh[pousr]_|github_pat_)/,
    "a token of GitHub's API: the secret is the one that was typed into the webhook",
  ],
  [
    /^shp(at|ca|pa|ua)_/,
    "a token of Shopify's API: webhooks are signed with the client secret of the app",
  ],
  [/^xox[abprs]-/, "a token of Slack's API: the signing secret is under Basic Information"],
  [/^eyJ/, 'a JSON Web Token'],
  [/^-----BEGIN /, 'a key in PEM'],
]

/** What the look of a secret tells, without any of its characters; `undefined` where it tells nothing. */
export function describeSecret(
  provider: string,
  secret: string,
  body: Uint8Array,
): string | undefined {
  const kind = KEYS_OF_APIS.find(([looks]) => looks.test(secret))?.[1]
  if (kind !== undefined) return `The secret looks like ${kind}.`
  if (provider !== 'stripe') return undefined
  if (!secret.startsWith('whsec_'))
    return "The secret does not begin with whsec_, as Stripe's signing secrets do."
  // `stripe listen` makes one of 64 hexadecimal digits; those of the dashboard are of mixed letters.
  if (/^whsec_[0-9a-f]{64}$/.test(secret))
    return 'The secret looks like the one of `stripe listen`, which signs only what the Stripe CLI forwards.'
  const mode = /"livemode"\s*:\s*(true|false)/.exec(Buffer.from(body).toString('latin1'))?.[1]
  if (mode === undefined) return undefined
  return `The event is of ${mode === 'true' ? 'live' : 'test'} mode: each mode has endpoints and secrets of its own.`
}
