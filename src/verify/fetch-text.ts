/** What is fetched for a verification: certificates and keys. `fetch` itself fits. */
export type TextFetcher = (
  url: string,
  init: { readonly redirect: 'error'; readonly signal: AbortSignal },
) => Promise<{
  readonly ok: boolean
  text(): Promise<string>
  /** For the certificate of an issuer, which is no text. May be left out where none is fetched. */
  arrayBuffer?(): Promise<ArrayBuffer>
}>

/** More than a chain of certificates or a set of keys has. */
export const TEXT_BYTES_MAX = 262_144

/**
 * Gets a text from a host that the caller has pinned. A redirect is an error, because it would lead
 * away from that host. It ends with its signal, also where the fetcher pays no attention to that one.
 *
 * @throws Error when it is not answered in time, not with a success, or with too much
 */
export async function fetchText(
  fetcher: TextFetcher,
  url: string,
  signal: AbortSignal,
): Promise<string> {
  return fetchAnswer(fetcher, url, signal, async (response) => {
    const text = await response.text()
    if (text.length > TEXT_BYTES_MAX) throw new Error('The host answered with too much')
    return text
  })
}

/** Gets bytes in the same way. */
export async function fetchBytes(
  fetcher: TextFetcher,
  url: string,
  signal: AbortSignal,
): Promise<Uint8Array> {
  return fetchAnswer(fetcher, url, signal, async (response) => {
    if (response.arrayBuffer === undefined) throw new Error('`fetch` gives no arrayBuffer')
    const bytes = new Uint8Array(await response.arrayBuffer())
    if (bytes.byteLength > TEXT_BYTES_MAX) throw new Error('The host answered with too much')
    return bytes
  })
}

async function fetchAnswer<Answer>(
  fetcher: TextFetcher,
  url: string,
  signal: AbortSignal,
  read: (response: Awaited<ReturnType<TextFetcher>>) => Promise<Answer>,
): Promise<Answer> {
  const late = new Promise<never>((_resolve, reject) => {
    const onAbort = (): void => reject(new Error('The host did not answer in time'))
    signal.addEventListener('abort', onAbort, { once: true })
  })
  const answered = fetcher(url, { redirect: 'error', signal }).then((response) => {
    if (!response.ok) throw new Error('The host did not answer with a success')
    return read(response)
  })
  return Promise.race([late, answered])
}

/** `https`, no port, no user, and a host that the pattern matches from end to end. */
export function isPinnedUrl(
  text: string,
  host: RegExp,
  protocols: readonly string[] = ['https:'],
): boolean {
  let url: URL
  try {
    url = new URL(text)
  } catch {
    return false
  }
  if (!protocols.includes(url.protocol) || url.port !== '') return false
  if (url.username !== '' || url.password !== '') return false
  const match = host.exec(url.hostname)
  return match !== null && match[0].length === url.hostname.length
}
