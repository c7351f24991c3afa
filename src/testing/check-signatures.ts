import type { Delivery } from '../model/delivery.ts'
import { listReadHeaders, throwsHookonceError, unless, withHeader } from './check-subject.ts'
import type { Problems, ProviderCheck, Subject } from './check-subject.ts'

/** That it believes what is signed, and nothing that differs from it where the signature covers it. */
export function listSignatureChecks(subject: Subject): readonly ProviderCheck[] {
  const { one, types } = subject
  const { body } = one.uncovered ?? {}
  return [
    ...types.map((type) => ({
      name: `believes a signed ${type} and knows its type`,
      run: () => checkType(subject, type),
    })),
    {
      name: 'refuses what was signed with another secret',
      run: () => checkOtherSecret(subject),
    },
    {
      name: 'cannot be made with empty or missing credentials',
      run: () => checkCredentials(subject),
    },
    body === undefined
      ? {
          name: 'refuses the body with any one byte changed',
          run: () => checkBody(subject),
        }
      : { name: `does not cover the body: ${body}`, run: () => checkUncoveredBody(subject) },
    {
      name: 'refuses any signed header with one character changed, and says why others may change',
      run: () => checkHeaders(subject),
    },
    {
      name: 'refuses hostile values of signed headers, without a throw',
      run: () => checkHostileHeaders(subject),
    },
  ]
}

async function checkType({ source, deliver }: Subject, type: string): Promise<Problems> {
  const delivery = deliver({ type })
  const verdict = await source.verify(delivery)
  const [event] = source.identify(delivery)
  return [
    ...unless(verdict.ok, `a signed ${type} is refused as ${verdict.ok ? '' : verdict.reason}`),
    ...unless(event?.type === type, `a ${type} is taken for a ${event?.type ?? 'nothing'}`),
    ...unless(event?.key !== undefined && event.key !== '', `a ${type} has no key`),
  ]
}

async function checkOtherSecret({ source, make, other, deliver }: Subject): Promise<Problems> {
  const byOther = await make(other).verify(deliver())
  const fromOther = await source.verify(deliver({}, other))
  return [
    ...unless(!byOther.ok, 'a source with another secret believes it'),
    ...unless(!fromOther.ok, 'a delivery signed with another secret is believed'),
  ]
}

function checkCredentials({ own, make, provider }: Subject): Problems {
  const given = own.options as Readonly<Record<string, unknown>>
  const names = Object.keys(given).filter((name) => name !== 'publicUrl')
  // Without a certificate it is fetched from the provider. What a provider need not be given may be
  // missing, and may not be empty.
  const mayBeMissing = (name: string) => {
    const rule = provider.definition.options?.[name]
    return name === 'certificate' || (rule !== undefined && rule.isRequired !== true)
  }
  const tries = names.flatMap((name) => [
    ...(Array.isArray(given[name]) ? [[], ['']] : ['']).map((value: unknown) => ({ name, value })),
    ...(mayBeMissing(name) ? [] : [{ name, value: undefined }]),
  ])
  return [
    ...unless(names.length > 0, 'it takes no credentials'),
    ...tries
      .filter(
        ({ name, value }) =>
          !throwsHookonceError(() => make({ ...own, options: { ...given, [name]: value } })),
      )
      .map(({ name, value }) => `it can be made with ${name}: ${JSON.stringify(value)}`),
  ]
}

async function checkBody({ one, types, source, deliver }: Subject): Promise<Problems> {
  const { bodyBytes } = one.uncovered ?? {}
  const problems: string[] = []
  for (const type of types) {
    const delivery = deliver({ type })
    const text = Buffer.from(delivery.body).toString('latin1')
    for (const at of spread(delivery.body.byteLength)) {
      const changed = Buffer.from(delivery.body)
      changed[at] = (changed[at] ?? 0) ^ 1
      const { ok } = await source.verify({ ...delivery, body: changed })
      if (!ok || bodyBytes?.covers(text, at) === true) continue
      const near = text.slice(Math.max(0, at - 20), at + 5)
      problems.push(`a ${type} with its byte ${at} changed is believed: …${near}…`)
    }
    const { ok } = await source.verify({ ...delivery, body: Buffer.from('other') })
    problems.push(...unless(!ok, `a ${type} with another body is believed`))
  }
  return problems
}

async function checkUncoveredBody({ types, source, deliver }: Subject): Promise<Problems> {
  const problems: string[] = []
  for (const type of types) {
    const { ok } = await source.verify({ ...deliver({ type }), body: Buffer.from('other') })
    problems.push(
      ...unless(ok, `another body is refused, so uncovered.body is not true of ${type}`),
    )
  }
  return problems
}

async function checkHeaders({ one, source, deliver }: Subject): Promise<Problems> {
  const delivery = deliver()
  const reasons = one.uncovered?.headers ?? {}
  const problems: string[] = []
  for (const name of listReadHeaders(source, delivery)) {
    const isFree = await isChangeable(name, delivery, (changed) => source.verify(changed))
    if (isFree === name in reasons) continue
    problems.push(
      isFree
        ? `${name} may be changed, and uncovered.headers does not say why that is safe`
        : `${name} is covered, though uncovered.headers says that it is not`,
    )
  }
  return problems
}

async function isChangeable(
  name: string,
  delivery: Delivery,
  verify: (changed: Delivery) => { ok: boolean } | Promise<{ ok: boolean }>,
): Promise<boolean> {
  const value = delivery.headers[name] as string
  for (const at of spread(value.length)) {
    const changed =
      value.slice(0, at) + String.fromCharCode(value.charCodeAt(at) ^ 1) + value.slice(at + 1)
    if ((await verify(withHeader(delivery, name, changed))).ok) return true
  }
  return false
}

async function checkHostileHeaders({ one, source, deliver }: Subject): Promise<Problems> {
  const delivery = deliver()
  const free = one.uncovered?.headers ?? {}
  const problems: string[] = []
  for (const name of listReadHeaders(source, delivery)) {
    for (const value of hostileValues(delivery.headers[name] as string)) {
      const { ok } = await source.verify(withHeader(delivery, name, value))
      const shown = JSON.stringify(value).slice(0, 80)
      problems.push(...unless(!ok || name in free, `${name}: ${shown} is believed`))
    }
    const { [name]: _, ...rest } = delivery.headers
    const { ok } = await source.verify({ ...delivery, headers: rest })
    problems.push(...unless(!ok || name in free, `it is believed without ${name}`))
  }
  return problems
}

/** Values for a security header that no sender writes. */
export function hostileValues(value: string): readonly (string | readonly string[])[] {
  return [
    '',
    'v1,',
    'v1=',
    't=NaN,v1=',
    'NaN',
    '-1',
    '1e3',
    'é\u{1f4a9}',
    value.slice(0, -1),
    `${value}A`,
    `A${value}`,
    [value, value],
    Array<string>(10_000)
      .fill(`v1=${'0'.repeat(64)}`)
      .join(','),
    Array<string>(10_000)
      .fill(`v1,${'A'.repeat(43)}=`)
      .join(' '),
    // A value that was damaged before may be long itself, and ten thousand of it more than a text can hold.
    `${Array<string>(10_000).fill(value.slice(0, 1_000)).join(';')};`,
  ]
}

/** Every place of something short, and eighty of something long. */
function spread(length: number): readonly number[] {
  const step = Math.max(1, length / 80)
  return Array.from({ length: Math.min(length, 80) }, (_, index) => Math.floor(index * step))
}
