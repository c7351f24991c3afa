/**
 * Replaces what differs from one run to the next by something of the same width, so that columns stay where they are.
 *
 * @module
 */

export interface SettleTerms {
  /** Shown as `/srv`. */
  readonly folder: string
  /** Ids that come first. */
  readonly ids: readonly string[]
}

export function settleText(screen: string, { folder, ids }: SettleTerms): string {
  const known = new Map(ids.map((id, at) => [id, idNumbered(at)]))
  return (
    screen
      .replaceAll(folder, '/srv')
      .replace(/[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, (id) => {
        const settled = known.get(id) ?? idNumbered(known.size)
        known.set(id, settled)
        return settled
      })
      .replace(/"created": \d+/g, '"created": 1795003201')
      .replace(/"id":"[0-9a-f]{8}"/g, '"id":"1f81eb52"')
      .replace(/127\.0\.0\.1:(\d{4,5})(\/api)?/g, (_all, _port, api?: string) =>
        api === undefined ? '127.0.0.1:4400' : '127.0.0.1:4401/api',
      )
      .replace(/(?<!\d)\d\d:\d\d:\d\d(?!\d)/g, '12:00:01')
      .replace(/(?<!\d)2\d{3}-\d\d-\d\d(?=[ T])/g, '2026-11-18')
      // One that was cut where the line ends.
      .replace(/(?<=2026-11-18T)\d\d(?=…)/g, '12')
      .replace(/\b\d+s\b/g, '4s')
      .replace(/\b\d+ seconds? ago/g, '4 seconds ago')
      .replace(/\b\d+(?:\.\d)? (ms|s)\b *(?= )/g, (all, unit: string) =>
        `7 ${unit}`.padEnd(all.length),
      )
      .replace(/\b\d+(?:\.\d)? (ms|s)\b/g, '7 $1')
  )
}

function idNumbered(at: number): string {
  return `01a1e66d-6842-71fc-802d-c8bec0b7a${String(at).padStart(3, '0')}`
}
