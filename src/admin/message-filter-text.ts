/**
 * Which messages are meant, as one line of text, in the grammar of `filter-text.ts`:
 *
 *     state:dead destination:crm after:2h text:"connection refused"
 *
 * @module
 */

import { MESSAGE_STATES } from '../model/message-state.ts'
import type { MessageState } from '../model/message-state.ts'
import { didYouMean } from '../options/did-you-mean.ts'
import { invalid, quote, readTerms, readTime, shorten } from './filter-text.ts'
import type { Term } from './filter-text.ts'
import type { MessageFilter } from './message-query.ts'

const NAMES = ['state', 'destination', 'text', 'before', 'after']
const EXAMPLE = 'state:dead destination:crm after:2h'

/**
 * What a filter says as text. A text without a term means every message.
 *
 * @throws OptionInvalidError for a term that cannot be read, with what it should be
 */
export function parseMessageFilter(text: string, now: Date = new Date()): MessageFilter {
  return readTerms<MessageFilter>(text, EXAMPLE, (term) => readTerm(term, now))
}

/** A filter as text that is read as the same filter again. */
export function formatMessageFilter(filter: MessageFilter): string {
  const { state, destination, text, before, after } = filter
  const terms = [
    state !== undefined && `state:${typeof state === 'string' ? state : state.join(',')}`,
    destination !== undefined && `destination:${quote(destination)}`,
    text !== undefined && `text:${quote(text)}`,
    after !== undefined && `after:${after.toISOString()}`,
    before !== undefined && `before:${before.toISOString()}`,
  ]
  return terms.filter((term) => term !== false).join(' ')
}

function readTerm({ name, value }: Term, now: Date): Partial<MessageFilter> {
  switch (name) {
    case 'state':
      return { state: value.split(',').map(readState) }
    case 'destination':
    case 'text':
      return { [name]: value }
    case 'before':
    case 'after':
      return { [name]: readTime(name, value, now) }
    default:
      throw invalid(
        `there is no "${shorten(name)}" of messages${didYouMean(name, NAMES)} There are: ${NAMES.join(', ')}`,
      )
  }
}

function readState(text: string): MessageState {
  const found = MESSAGE_STATES.find((state) => state === text)
  if (found !== undefined) return found
  throw invalid(
    `there is no state "${shorten(text)}" of messages${didYouMean(text, MESSAGE_STATES)} There are: ${MESSAGE_STATES.join(', ')}`,
  )
}
