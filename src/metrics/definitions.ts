/**
 * Every metric, by its name. `docs/metrics.md` has the same list, and a test compares them.
 *
 * @module
 */

import { Counter, Gauge, Histogram } from './registry.ts'

/** A sender waits for this, and gives up after a few seconds. */
const ANSWER_BOUNDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]
/** A handler may take its time. */
const WORK_BOUNDS = [0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60]

/** A set of all metrics, at zero. */
export function defineMetrics() {
  return {
    deliveries: new Counter({
      name: 'hookonce_deliveries_total',
      help: 'Deliveries that were answered, by what became of them.',
      labels: ['source', 'outcome'],
    }),
    signatureFailures: new Counter({
      name: 'hookonce_signature_failures_total',
      help: 'Deliveries that were not believed, by why.',
      labels: ['source', 'reason'],
    }),
    ack: new Histogram({
      name: 'hookonce_ack_seconds',
      help: 'From the whole body of a delivery to its answer.',
      labels: ['source'],
      bounds: ANSWER_BOUNDS,
    }),
    settled: new Counter({
      name: 'hookonce_events_settled_total',
      help: 'Events that this process brought to an end, by which.',
      labels: ['source', 'state'],
    }),
    process: new Histogram({
      name: 'hookonce_process_seconds',
      help: 'How long the handlers of an event took, where it ended with success.',
      labels: ['source'],
      bounds: WORK_BOUNDS,
    }),
    failures: new Counter({
      name: 'hookonce_attempts_failed_total',
      help: 'Attempts that failed and are followed by another, by why.',
      labels: ['source', 'reason'],
    }),
    crashes: new Counter({
      name: 'hookonce_event_crashes_total',
      help: 'Events that were running when their worker died.',
      labels: ['source'],
    }),
    messages: new Counter({
      name: 'hookonce_messages_total',
      help: 'What became of attempts to send a message.',
      labels: ['destination', 'outcome'],
    }),
    message: new Histogram({
      name: 'hookonce_message_seconds',
      help: 'How long a destination took to take a message.',
      labels: ['destination'],
      bounds: WORK_BOUNDS,
    }),
    held: new Counter({
      name: 'hookonce_destination_held_total',
      help: 'How often the relay left a destination alone for a while, because it does not answer or asked for it.',
      labels: ['destination'],
    }),
    storeOutages: new Counter({
      name: 'hookonce_store_outages_total',
      help: 'How often the store did not answer or could not write.',
      labels: [],
    }),
    commitsUnknown: new Counter({
      name: 'hookonce_store_commits_unknown_total',
      help: 'Connections that were lost at COMMIT.',
      labels: [],
    }),
    decryptFailures: new Counter({
      name: 'hookonce_store_decrypt_failures_total',
      help: 'Events and messages that could not be decrypted.',
      labels: [],
    }),
    errors: new Counter({
      name: 'hookonce_errors_total',
      help: 'What worker, relay and pruner could not do and try again.',
      labels: ['part'],
    }),
    lanesBlocked: new Counter({
      name: 'hookonce_lanes_blocked_total',
      help: 'How often a dead event has begun to hold up its lane.',
      labels: ['source'],
    }),
    listenDown: new Gauge({
      name: 'hookonce_listen_down',
      help: '1 while this process does not hear of what others store, and finds it by looking now and then.',
      labels: [],
    }),
    ready: new Gauge({
      name: 'hookonce_ready',
      help: '1 while this process takes deliveries, 0 while it answers 503.',
      labels: [],
      pick: Math.min,
    }),
    clockSkew: new Gauge({
      name: 'hookonce_clock_skew_seconds',
      help: "By how much this process's clock is ahead of the database's, or behind it where negative; at most a day.",
      labels: [],
      pick: (one, other) => (Math.abs(other) > Math.abs(one) ? other : one),
    }),
  }
}

/** What is read from the store, and the same in every process that shares it. */
export function defineStoreMetrics() {
  return {
    up: new Gauge({
      name: 'hookonce_store_up',
      help: '1 when the store answered for this page, 0 when it did not.',
      labels: [],
    }),
    events: new Gauge({
      name: 'hookonce_events',
      help: 'Events by state, counted up to 10000 of each.',
      labels: ['state'],
    }),
    due: new Gauge({
      name: 'hookonce_queue_due',
      help: 'Events that are due, counted up to 10000.',
      labels: [],
    }),
    queueAge: new Gauge({
      name: 'hookonce_queue_age_seconds',
      help: 'For how long the oldest event that is due has been so; 0 when none is.',
      labels: [],
    }),
    messages: new Gauge({
      name: 'hookonce_messages',
      help: 'Messages that are not sent yet or wait for a person, by state, counted up to 10000.',
      labels: ['destination', 'state'],
    }),
    workers: new Gauge({
      name: 'hookonce_workers',
      help: 'Workers of all processes that are alive.',
      labels: [],
    }),
    oldestTransaction: new Gauge({
      name: 'hookonce_store_oldest_transaction_seconds',
      help: 'For how long the oldest transaction in the database is open, whose ever it is; 0 when none is. Only PostgreSQL.',
      labels: [],
    }),
    heldBack: new Gauge({
      name: 'hookonce_store_held_back_transactions',
      help: 'How many transactions have begun since the oldest that something in the database must still see. Only PostgreSQL.',
      labels: [],
    }),
    paused: new Gauge({
      name: 'hookonce_paused',
      help: 'What an operator has paused, by kind.',
      labels: ['kind'],
    }),
  }
}
