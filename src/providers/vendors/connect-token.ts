/**
 * The JSON Web Token of Atlassian Connect: `authorization: JWT <token>`, whose claim `qsh` is the hash of
 * the method, the path and the query. The body is not covered.
 *
 * The path is the configuration's. The query is the request's: Jira adds who did it to every request, and
 * the hash covers it.
 *
 * @module
 */

import { createHash } from 'node:crypto'
import { OptionInvalidError } from '../../errors.ts'
import type { Delivery } from '../../model/delivery.ts'
import { Reading } from '../../body/json-path.ts'
import { isSameText } from '../../verify/token.ts'
import { jwtSignature } from '../schemes/jwt-signature.ts'
import type { Verification } from '../schemes/verification.ts'

/** A token is good for three minutes, and made for each attempt. */
const AGE_SECONDS_MAX = 180

export function connectToken(): Verification {
  return {
    ...tokenBelow(''),
    build: (context) =>
      tokenBelow(requireBasePath(context.provider, context.options)).build(context),
  }
}

/** `basePath` is the path of the app's base URL, which is no part of what is hashed. */
function tokenBelow(basePath: string): Verification {
  return jwtSignature({
    header: 'authorization',
    prefix: 'JWT ',
    algorithm: 'HS256',
    ageSecondsMax: AGE_SECONDS_MAX,
    usesPublicUrl: true,
    covers({ qsh }, delivery, { publicUrl }) {
      const path = new URL(publicUrl).pathname.slice(basePath.length)
      return typeof qsh === 'string' && isSameText(qsh, hashRequest(delivery, path))
    },
  })
}

function hashRequest(delivery: Delivery, path: string): string {
  const request = [delivery.method, canonicalPath(path), canonicalQuery(delivery)].join('&')
  return createHash('sha256').update(request, 'utf8').digest('hex')
}

/** `&` divides the parts of what is hashed, so that in a path it is escaped. */
function canonicalPath(path: string): string {
  const trimmed = path.replace(/\/$/, '').replaceAll('&', '%26')
  return trimmed.startsWith('/') ? trimmed : `/${trimmed}`
}

/** By their names, the values of one name joined by commas, all of it escaped as in OAuth 1. */
function canonicalQuery(delivery: Delivery): string {
  const { query } = new Reading(delivery)
  return [...new Set(query.keys())]
    .filter((name) => name !== 'jwt')
    .sort()
    .map((name) => `${escapeText(name)}=${query.getAll(name).sort().map(escapeText).join(',')}`)
    .join('&')
}

function escapeText(text: string): string {
  return encodeURIComponent(text).replace(
    /[!'()*]/g,
    (mark) => `%${mark.charCodeAt(0).toString(16).toUpperCase()}`,
  )
}

function requireBasePath(
  provider: string,
  { baseUrl, publicUrl }: Readonly<Record<string, unknown>>,
): string {
  if (baseUrl === undefined) return ''
  const isBelow =
    typeof baseUrl === 'string' &&
    URL.canParse(baseUrl) &&
    typeof publicUrl === 'string' &&
    `${publicUrl}/`.startsWith(`${baseUrl.replace(/\/$/, '')}/`)
  if (isBelow) return new URL(baseUrl).pathname.replace(/\/$/, '')
  throw new OptionInvalidError(
    `${provider}.baseUrl`,
    'the base URL of your app’s descriptor, with which publicUrl begins',
    baseUrl,
  )
}
