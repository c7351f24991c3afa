import { notDone } from 'hookonce'
import type { StepCallContext } from 'hookonce'

export interface Label {
  readonly tracking: string
}

/**
 * Buys a label at the parcel service, which knows a purchase again by its key. An answer of 503 says that it took
 * nothing. After any other failure that is not known, and the next attempt asks with the same key.
 */
export async function buyLabel(
  invoice: string,
  { idempotencyKey, signal }: Pick<StepCallContext, 'idempotencyKey' | 'signal'>,
): Promise<Label> {
  const response = await fetch(process.env['PARCELS_URL'] ?? 'https://parcels.example.com/labels', {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'idempotency-key': idempotencyKey },
    body: JSON.stringify({ reference: invoice }),
    signal,
  })
  if (response.status === 503) throw notDone('The parcel service is down: 503')
  if (!response.ok) throw new Error(`The parcel service answered ${response.status}`)
  return (await response.json()) as Label
}
