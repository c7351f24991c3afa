import type { DeliveryHeaders } from '../../model/delivery.ts'

/** What the headers of a kept event, as JSON text, say of its body. */
export function contentTypeOf(headers: string): string | undefined {
  const value = (JSON.parse(headers) as DeliveryHeaders)['content-type']
  return typeof value === 'string' ? value : value?.[0]
}
