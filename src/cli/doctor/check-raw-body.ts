/**
 * Whether bodies arrive at a running receiver as they were sent: a proxy, a firewall or a body parser on the way may
 * have written them anew, and then no signature holds.
 *
 * What is sent are probes, which a receiver answers and never stores, and which carry no signature of the sender's: a
 * receiver that does not know them refuses them. See docs/decisions/2026-11-doctor-sends-probes.md.
 *
 * @module
 */

import { asError } from '../../errors.ts'
import type { Source } from '../../index.ts'
import { PROBE_HEADER } from '../../model/probe.ts'
import { formatSpan } from '../output/times.ts'
import { listFormerBodies } from '../verify/changed-bodies.ts'
import type { Finding } from './finding.ts'
import { PROBE_BODIES } from './probe-bodies.ts'
import type { ProbeBody } from './probe-bodies.ts'

const PATIENCE_MS = 10_000
const SKEW_TOLD_MS = 60_000
const CHECK = 'raw body'
const PAGE = 'docs/guides/raw-bodies.md'

export async function checkRawBody(url: string, source: Source): Promise<readonly Finding[]> {
  if (source.prober === undefined)
    return [
      warn(
        `${source.provider} has no secret that both sides know, so that no probe can be made`,
        'Check by another source of the same receiver: hookonce doctor --to <url> --provider <name> --secret <secret>.',
      ),
    ]
  const [plain, ...others] = PROBE_BODIES
  const first = await checkOne(url, source, plain)
  // What did not know the first as a probe shall not be sent more of them.
  if ('refusal' in first) return [first.refusal]
  const rest = await Promise.all(others.map((each) => checkOne(url, source, each)))
  const findings = listFindings([first, ...rest])
  if (findings.length > 0) return findings
  const { host } = new URL(url)
  const message = `${PROBE_BODIES.length} kinds of bodies arrive at ${host} as they were sent`
  return [{ level: 'ok', check: CHECK, message }]
}

/** What a probe was answered: by a receiver of ours, or by something else. */
type Checked =
  | {
      readonly kind: string
      /** What was done to its body on its way. */
      readonly change?: string
      readonly isUnpacked?: boolean
      readonly lost: readonly string[]
    }
  | { readonly refusal: Finding }

async function checkOne(url: string, source: Source, probe: ProbeBody): Promise<Checked> {
  let response: Response
  let text: string
  try {
    response = await send(url, source, probe)
    text = await response.text()
  } catch (error) {
    const { message, cause } = asError(error)
    const why = cause instanceof Error ? cause.message : message
    // A path may have a token in it.
    const { host } = new URL(url)
    return refused(`${host} cannot be reached: ${why}`, 'Does the receiver run there?')
  }
  const answer = readAnswer(text)
  const isPacked = probe.contentEncoding !== undefined
  if (isPacked && response.status === 415) return { kind: probe.kind, lost: [] }
  if (response.status !== 200 || answer.probe === undefined) return explainAnswer(response, answer)
  const sent = ownHeaders(source)
  return {
    kind: probe.kind,
    ...(answer.probe === 'changed' &&
      (isPacked ? { isUnpacked: true } : { change: describeChange(probe.body, answer) })),
    lost: answer.missing.filter((name) => sent.includes(name)),
  }
}

/** What is the same for several kinds of bodies is said once. */
function listFindings(checked: readonly Checked[]): readonly Finding[] {
  const refusals = checked.flatMap((one) => ('refusal' in one ? one.refusal : []))
  const answered = checked.flatMap((one) => ('refusal' in one ? [] : one))
  const changes = new Set(answered.flatMap(({ change }) => change ?? []))
  const lost = new Set(answered.flatMap((one) => one.lost))
  return [
    ...refusals.filter(
      ({ message }, at) => refusals.findIndex((one) => one.message === message) === at,
    ),
    ...[...changes].map((change) => {
      const kinds = answered.filter((one) => one.change === change).map(({ kind }) => kind)
      return problem(
        `the body (${kinds.join(', ')}) is changed on its way: ${change}`,
        `No signature over it can hold. Whatever stands in front must pass on the bytes that came: ${PAGE}.`,
      )
    }),
    ...(answered.some(({ isUnpacked }) => isUnpacked === true)
      ? [
          warn(
            'something on the way unpacks compressed bodies',
            `A sender that compresses is then refused for its signature, and is not told why: ${PAGE}.`,
          ),
        ]
      : []),
    ...(lost.size > 0
      ? [
          problem(
            `something on the way takes headers away: ${[...lost].join(', ')}`,
            `The signature is in them: ${PAGE}.`,
          ),
        ]
      : []),
  ]
}

function send(url: string, source: Source, probe: ProbeBody): Promise<Response> {
  const { body, contentType, contentEncoding, isChunked = false } = probe
  const signature = source.prober?.sign(body, new Date()) ?? ''
  return fetch(url, {
    method: 'POST',
    headers: {
      // Only to see whether they arrive: none of them is a signature.
      ...Object.fromEntries(ownHeaders(source).map((name) => [name, 'probe'])),
      'content-type': contentType,
      ...(contentEncoding !== undefined && { 'content-encoding': contentEncoding }),
      [PROBE_HEADER]: signature,
    },
    body: isChunked ? new Blob([new Uint8Array(body)]).stream() : new Uint8Array(body),
    ...(isChunked && { duplex: 'half' as const }),
    redirect: 'manual',
    signal: AbortSignal.timeout(PATIENCE_MS),
  })
}

/** Those that mean something to whatever is in between are left out. */
function ownHeaders({ securityHeaders }: Source): readonly string[] {
  return securityHeaders.filter((name) => /^x-|sign|hook|hmac|token/.test(name))
}

interface ProbeAnswer {
  readonly probe?: 'same' | 'changed'
  readonly bytes?: number
  readonly missing: readonly string[]
  readonly body?: Uint8Array
  readonly error?: string
  readonly hint?: string
}

/** What was answered: by a receiver of ours, or by anything else that listens there. */
function readAnswer(text: string): ProbeAnswer {
  let parsed: Record<string, unknown>
  try {
    parsed = (JSON.parse(text) ?? {}) as Record<string, unknown>
  } catch {
    parsed = {}
  }
  const { probe, bytes, missing, body, error, hint } = parsed
  return {
    ...((probe === 'same' || probe === 'changed') && { probe }),
    ...(typeof bytes === 'number' && { bytes }),
    missing: Array.isArray(missing) ? missing.map(String) : [],
    ...(typeof body === 'string' && { body: Buffer.from(body, 'base64') }),
    ...(typeof error === 'string' && { error }),
    ...(typeof hint === 'string' && { hint }),
  }
}

function describeChange(sent: Uint8Array, { body, bytes = 0 }: ProbeAnswer): string {
  if (body === undefined) return `${sent.byteLength} bytes were sent and ${bytes} arrived`
  for (const { what, body: former } of listFormerBodies(body))
    if (Buffer.compare(former, sent) === 0) return what
  if (isRewritten(sent, body)) return 'it was parsed as JSON and written anew'
  const at = sent.findIndex((byte, index) => byte !== body[index])
  return `${sent.byteLength} bytes were sent and ${body.byteLength} arrived; the first that differs is number ${at < 0 ? sent.byteLength + 1 : at + 1}`
}

/** Whether they are the same to a parser: then it was one. */
function isRewritten(sent: Uint8Array, arrived: Uint8Array): boolean {
  try {
    const [one, other] = [sent, arrived].map((body) =>
      JSON.stringify(JSON.parse(Buffer.from(body).toString())),
    )
    return one === other
  } catch {
    return false
  }
}

/** It was not answered as a probe: by whom, then, and why? */
function explainAnswer(response: Response, answer: ProbeAnswer): Checked {
  const { status, headers } = response
  if (answer.error === 'body_parsed')
    return refused('the body is parsed before Hookonce sees its bytes', answer.hint ?? PAGE)
  if (status >= 200 && status < 300)
    return refused(
      `answered ${status} without looking at the signature`,
      'What answers there is no receiver of Hookonce: something in front says yes by itself, or the URL is another one.',
    )
  if (status >= 300 && status < 400)
    return refused(
      `answered ${status}: ${headers.get('location') ?? 'go elsewhere'}`,
      'Senders do not follow: give them the URL that answers itself.',
    )
  if (status === 413)
    return refused('something on the way takes no body of this size', `See ${PAGE}.`)
  if (status === 401 || status === 403) return refused(...explainRefusal(status, headers))
  return refused(
    `answered ${status}${answer.error === undefined ? '' : `: ${answer.error}`}`,
    status === 404
      ? 'Is this the URL that the sender has?'
      : status === 503
        ? 'The receiver is not ready: check its store, and try again.'
        : 'What answers there may be no receiver of Hookonce.',
  )
}

function explainRefusal(status: number, headers: Headers): readonly [string, string] {
  const skewMs = Date.parse(headers.get('date') ?? '') - Date.now()
  if (Math.abs(skewMs) > SKEW_TOLD_MS)
    return [
      `answered ${status}, and its clock is ${formatSpan(Math.abs(skewMs))} ${skewMs < 0 ? 'behind' : 'ahead of'} this machine's`,
      'Set both by NTP: signatures are refused by the clock.',
    ]
  return [
    `answered ${status}: the probe was not believed`,
    `The receiver has another secret, an older version or is no Hookonce; or something on the way takes the header ${PROBE_HEADER} away, or asks for a password.`,
  ]
}

function refused(message: string, advice: string): Checked {
  return { refusal: problem(message, advice) }
}

function problem(message: string, advice: string): Finding {
  return { level: 'problem', check: CHECK, message, advice }
}

function warn(message: string, advice: string): Finding {
  return { level: 'warning', check: CHECK, message, advice }
}
