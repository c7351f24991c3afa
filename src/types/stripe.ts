/**
 * The events of Stripe's own package, by type. Types only: nothing here runs, and `stripe` is needed only
 * where this entry is imported.
 *
 * @module
 */

import type Stripe from 'stripe'
import type { EventsByType } from '../model/source.ts'

/** For `stripe<StripeEventMap>({ … })`: a handler of `invoice.paid` gets a `Stripe.InvoicePaidEvent`. */
export type StripeEventMap = EventsByType<Stripe.Event>
