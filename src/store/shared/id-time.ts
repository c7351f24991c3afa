/** The least id of an event that was stored at this time: a UUIDv7 begins with 48 bits of milliseconds. */
export function lowestIdAt(ms: number): string {
  const hex = Math.max(0, Math.floor(ms)).toString(16).padStart(12, '0')
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-0000-0000-000000000000`
}

/** When the event with this id was stored. */
export function timeOfId(id: string): number {
  return Number.parseInt(id.slice(0, 8) + id.slice(9, 13), 16)
}

/** Which event came first is what its id says. */
export const LOWEST_ID = '00000000-0000-0000-0000-000000000000'
