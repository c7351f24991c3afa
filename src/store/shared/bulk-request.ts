import type { EventBulkAction } from '../../model/bulk.ts'
import type { BulkOrder } from '../contract/bulks.ts'
import type { ActionRequest } from '../contract/operators.ts'

/** What is asked for an event of a bulk: that it is done once is in the bulk, so that it needs no token. */
export function requestOf({
  terms,
  ...order
}: BulkOrder & { readonly action: EventBulkAction }): ActionRequest {
  const request = { ...order, token: undefined }
  return terms === undefined ? request : { ...request, replay: { ...terms, body: undefined } }
}
