import { createHash, createHmac, createPrivateKey, sign } from 'node:crypto'
import { OptionInvalidError } from '../errors.ts'
import type {
  HashSpec,
  HmacSpec,
  JwtSpec,
  PublicKeySpec,
  SignatureSpec,
  StandardSpec,
  TokenSpec,
  Verification,
} from '../providers/index.ts'
import type { Credentials, DeliveryDraft } from './fixture.ts'

/** Signs a delivery by the data of a scheme. */
export function signDraft(
  verification: Verification,
  draft: DeliveryDraft,
  credentials: Credentials,
): DeliveryDraft {
  switch (verification.kind) {
    case 'hmac':
      return signSpec(verification.spec as HmacSpec, draft, credentials, (bytes) => {
        const { algorithm, secretEncoding } = verification.spec as HmacSpec
        return createHmac(algorithm, keyOf(credentials, secretEncoding)).update(bytes).digest()
      })
    case 'hash':
      return signSpec(verification.spec as HashSpec, draft, credentials, (bytes) =>
        createHash('sha256').update(requireSecret(credentials)).update(bytes).digest(),
      )
    case 'ed25519':
      return signSpec(verification.spec as PublicKeySpec, draft, credentials, (bytes) =>
        sign(null, bytes, privateKeyOf(credentials)),
      )
    case 'ecdsa':
      return signSpec(verification.spec as PublicKeySpec, draft, credentials, (bytes) => {
        const isRaw = (verification.spec as PublicKeySpec).form === 'raw'
        const dsaEncoding = isRaw ? 'ieee-p1363' : 'der'
        return sign('sha256', bytes, { key: privateKeyOf(credentials), dsaEncoding })
      })
    case 'standard':
      return signStandard(verification.spec as StandardSpec, draft, credentials)
    case 'jwt':
      return signJwt(verification.spec as JwtSpec, draft, credentials)
    case 'token': {
      const { at, prefix = '', headerOption = '' } = verification.spec as TokenSpec
      const chosen = credentials.options?.[headerOption]
      const where = chosen === undefined ? at : `header:${chosen}`
      return place(where, prefix + requireSecret(credentials), draft)
    }
    case 'basic': {
      const pair = Buffer.from(requireSecret(credentials), 'utf8').toString('base64')
      return place('header:authorization', `Basic ${pair}`, draft)
    }
    case 'first-present': {
      const first = verification.choices?.[0]
      if (first !== undefined) return signDraft(first.use, draft, credentials)
      break
    }
    case 'rsa':
    case 'custom':
      break
  }
  throw new OptionInvalidError(
    'sign',
    'a provider whose fixture says how to sign',
    verification.kind,
  )
}

function signSpec(
  spec: SignatureSpec,
  draft: DeliveryDraft,
  credentials: Credentials,
  make: (bytes: Buffer) => Buffer,
): DeliveryDraft {
  const { timestamp, list } = spec
  const time = timestamp === undefined ? undefined : writeTime(timestamp.format, draft.at)
  const timed =
    timestamp?.at === undefined || time === undefined ? draft : place(timestamp.at, time, draft)
  const signature = make(render(spec, timed, time ?? '', credentials)).toString(
    spec.encoding === 'lower-hex' ? 'hex' : spec.encoding,
  )
  const entry = `${[spec.prefix ?? ''].flat()[0] ?? ''}${signature}`
  const label = list?.timestamp === 'first' ? '' : list?.timestamp
  const value =
    list === undefined || label === undefined || time === undefined
      ? entry
      : `${label}${time}${list.separator}${entry}`
  return place([spec.signature].flat()[0] ?? '', value, timed)
}

function writeTime(format: 'seconds' | 'milliseconds' | 'iso', at: Date): string {
  if (format === 'iso') return at.toISOString()
  return String(format === 'seconds' ? Math.floor(at.getTime() / 1000) : at.getTime())
}

function render(
  { signed }: SignatureSpec,
  draft: DeliveryDraft,
  time: string,
  { publicUrl = '', options = {} }: Credentials,
): Buffer {
  if (typeof signed !== 'string') {
    throw new OptionInvalidError('sign', 'a provider whose fixture says how to sign', 'code')
  }
  const parts = signed.split(/(\{[^{}]*\})/).map((part): Buffer | string => {
    const [, name = '', rest = ''] = /^\{([^:}]+):?(.*)\}$/.exec(part) ?? []
    switch (name) {
      case '':
        return part
      case 'body':
        return draft.body
      case 'timestamp':
        return time
      case 'header':
        return Buffer.from(draft.headers[rest.toLowerCase()] ?? '', 'latin1')
      case 'method':
        return draft.method
      case 'url':
        return publicUrl
      case 'url+query':
        return publicUrl.includes('?')
          ? publicUrl
          : publicUrl + (/\?.*$/.exec(draft.url)?.[0] ?? '')
      case 'form':
        return rest === '' ? sortedForm(draft.body) : (formOf(draft.body).get(rest) ?? '')
      case 'crc32':
        return String(crc32(draft.body))
      case 'json':
        return valueAt(draft.body, rest)
      case 'option':
        return options[rest] ?? ''
      default:
        throw new OptionInvalidError('sign', 'a template of known pieces', part)
    }
  })
  return Buffer.concat(parts.map((part) => (typeof part === 'string' ? Buffer.from(part) : part)))
}

function signStandard(
  { names, secretEncoding = 'whsec' }: StandardSpec,
  draft: DeliveryDraft,
  credentials: Credentials,
): DeliveryDraft {
  const name = names[0] ?? 'webhook'
  const time = writeTime('seconds', draft.at)
  const id = draft.headers[`${name}-id`] ?? draft.key
  const bytes = Buffer.concat([Buffer.from(`${id}.${time}.`, 'latin1'), draft.body])
  const signature =
    credentials.privateKey === undefined
      ? `v1,${createHmac('sha256', keyOf(credentials, secretEncoding)).update(bytes).digest('base64')}`
      : `v1a,${sign(null, bytes, privateKeyOf(credentials)).toString('base64')}`
  const headers = {
    ...draft.headers,
    [`${name}-id`]: id,
    [`${name}-timestamp`]: time,
    [`${name}-signature`]: signature,
  }
  return { ...draft, headers }
}

function signJwt(spec: JwtSpec, draft: DeliveryDraft, credentials: Credentials): DeliveryDraft {
  const encode = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')
  const head = encode({ alg: spec.algorithm, typ: 'JWT' })
  const claims = encode({
    ...spec.claims,
    iat: Math.floor(draft.at.getTime() / 1000),
    ...(spec.bodyHashClaim !== undefined && {
      [spec.bodyHashClaim]: createHash('sha256').update(draft.body).digest('hex'),
    }),
  })
  const bytes = Buffer.from(`${head}.${claims}`)
  const signature =
    spec.algorithm === 'HS256'
      ? createHmac('sha256', requireSecret(credentials)).update(bytes).digest()
      : sign('sha256', bytes, { key: privateKeyOf(credentials), dsaEncoding: 'ieee-p1363' })
  const token = `${head}.${claims}.${signature.toString('base64url')}`
  return place(`header:${spec.header}`, `${spec.prefix ?? ''}${token}`, draft)
}

/** Puts a value where a locator will find it: in a header, the query, or a JSON body. */
function place(locator: string, value: string, draft: DeliveryDraft): DeliveryDraft {
  const name = locator.slice(locator.indexOf(':') + 1)
  if (locator.startsWith('header:')) {
    // A secret beyond ASCII is sent as its UTF-8 bytes, each of them one character of the header.
    const text = Buffer.from(value, 'utf8').toString('latin1')
    return { ...draft, headers: { ...draft.headers, [name.toLowerCase()]: text } }
  }
  if (locator.startsWith('query:')) {
    const joint = draft.url.includes('?') ? '&' : '?'
    return { ...draft, url: `${draft.url}${joint}${new URLSearchParams({ [name]: value })}` }
  }
  const root = JSON.parse(draft.body.toString('utf8')) as Record<string, unknown>
  const steps = name.split('.').slice(1)
  let at = root
  for (const step of steps.slice(0, -1)) at = (at[step] ??= {}) as Record<string, unknown>
  const last = steps.at(-1) ?? ''
  // A time that the fixture writes as a number stays one.
  at[last] = typeof at[last] === 'number' ? Number(value) : value
  return { ...draft, body: Buffer.from(JSON.stringify(root), 'utf8') }
}

function keyOf(credentials: Credentials, encoding: HmacSpec['secretEncoding'] = 'utf8'): Buffer {
  const secret = requireSecret(credentials)
  if (typeof encoding === 'function') return encoding(secret) ?? Buffer.alloc(0)
  if (encoding === 'whsec') return Buffer.from(secret.replace(/^whsec_/, ''), 'base64')
  return Buffer.from(secret, encoding)
}

function requireSecret({ secret }: Credentials): string {
  if (typeof secret === 'string' && secret !== '') return secret
  throw new OptionInvalidError('sign.secret', 'the secret to sign with', secret)
}

function privateKeyOf({ privateKey }: Credentials) {
  if (privateKey === undefined) {
    throw new OptionInvalidError('sign.privateKey', 'the private key to sign with', privateKey)
  }
  return typeof privateKey === 'string' ? createPrivateKey(privateKey) : privateKey
}

function formOf(body: Buffer): URLSearchParams {
  return new URLSearchParams(body.toString('utf8'))
}

function sortedForm(body: Buffer): string {
  const form = formOf(body)
  return [...new Set(form.keys())]
    .sort()
    .flatMap((name) => [...new Set(form.getAll(name))].sort().map((value) => name + value))
    .join('')
}

function valueAt(body: Buffer, path: string): string {
  let value = JSON.parse(body.toString('utf8')) as unknown
  for (const step of path.split('.').slice(1)) value = (value as Record<string, unknown>)[step]
  return String(value)
}

/** Bit by bit: slow, and not the one the verification has. */
function crc32(bytes: Uint8Array): number {
  let crc = ~0
  for (const byte of bytes) {
    crc ^= byte
    for (let bit = 0; bit < 8; bit++) crc = (crc >>> 1) ^ (0xedb88320 & -(crc & 1))
  }
  return ~crc >>> 0
}
