/** What is fetched for a verification: certificates and keys. `fetch` itself fits. */
export type TextFetcher = (
  url: string,
  init: { readonly redirect: 'error'; readonly signal: AbortSignal },
) => Promise<{ readonly ok: boolean; text(): Promise<string> }>

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
  const late = new Promise<never>((_resolve, reject) => {
    const onAbort = (): void => reject(new Error('The host did not answer in time'))
    signal.addEventListener('abort', onAbort, { once: true })
  })
  return Promise.race([late, readAnswer(fetcher(url, { redirect: 'error', signal }))])
}

async function readAnswer(answer: ReturnType<TextFetcher>): Promise<string> {
  const response = await answer
  if (!response.ok) throw new Error('The host did not answer with a success')
  const text = await response.text()
  if (text.length > TEXT_BYTES_MAX) throw new Error('The host answered with too much')
  return text
}

/** `https`, no port, no user, and a host that the pattern matches from end to end. */
export function isPinnedUrl(text: string, host: RegExp): boolean {
  let url: URL
  try {
    url = new URL(text)
  } catch {
    return false
  }
  if (url.protocol !== 'https:' || url.port !== '' || url.username !== '' || url.password !== '') {
    return false
  }
  const match = host.exec(url.hostname)
  return match !== null && match[0].length === url.hostname.length
}
