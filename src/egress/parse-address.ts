import { isIP } from 'node:net'

/** An address as its bytes: 4 of them, or 16. */
export type AddressBytes = readonly number[]

/**
 * The bytes of an address in its usual notation, or `undefined` for anything else.
 *
 * Strict on purpose. `0177.0.0.1`, `127.1` and `2130706433` are addresses to some programs and names
 * to others; a URL's parser has turned them into dotted numbers before they get here, and whatever it
 * has not is no address to us. Nor is an address with a zone (`fe80::1%eth0`): it names an interface.
 */
export function parseAddress(text: string): AddressBytes | undefined {
  switch (isIP(text)) {
    case 4:
      return parseIPv4(text)
    case 6:
      return text.includes('%') ? undefined : parseIPv6(text)
    default:
      return undefined
  }
}

function parseIPv4(text: string): AddressBytes {
  return text.split('.').map(Number)
}

/** `isIP` has seen to it that there is one `::` at most and that every group fits. */
function parseIPv6(text: string): AddressBytes {
  const [head = '', tail] = text.split('::')
  const front = parseGroups(head)
  if (tail === undefined) return front
  const back = parseGroups(tail)
  const gap = Array.from({ length: 16 - front.length - back.length }, () => 0)
  return [...front, ...gap, ...back]
}

function parseGroups(text: string): AddressBytes {
  if (text === '') return []
  return text.split(':').flatMap((group) => {
    if (group.includes('.')) return parseIPv4(group)
    const value = Number.parseInt(group, 16)
    return [value >> 8, value & 0xff]
  })
}
