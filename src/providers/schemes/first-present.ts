import { findHeader } from '../../model/delivery.ts'
import { isHeaderName } from '../../model/header-name.ts'
import type { Choice, Verification } from './verification.ts'

/**
 * For senders with several schemes: the first whose header is there judges, and no other is asked. A
 * stronger scheme stands before a weaker one, so that taking the strong header away does not help: the
 * weak signature still has to hold, and is one that the sender does make.
 */
export function firstPresent(choices: readonly Choice[]): Verification {
  if (!choices.every(({ when }) => isHeaderName(when))) throw new TypeError('`when` names a header')
  const tolerances = choices.flatMap(({ use }) => use.toleranceSeconds ?? [])
  return {
    kind: 'first-present',
    choices,
    summary: choices.map(({ when, use }) => `\`${when}\`: ${use.summary}`).join('; '),
    headers: choices.flatMap(({ when, use }) => [when, ...use.headers]),
    signedHeaders: choices.reduce<readonly string[]>(
      (all, { use }, index) =>
        index === 0 ? use.signedHeaders : all.filter((name) => use.signedHeaders.includes(name)),
      [],
    ),
    signsBody: choices.every(({ use }) => use.signsBody),
    optionNames: [...new Set(choices.flatMap(({ use }) => use.optionNames))],
    ...(tolerances[0] !== undefined && { toleranceSeconds: tolerances[0] }),
    build(context) {
      const built = choices.map(({ when, use }) => ({ when, ...use.build(context) }))
      return {
        secrets: built[0]?.secrets ?? [],
        warnings: [...new Set(built.flatMap(({ warnings }) => warnings))],
        secretHeaders: built.flatMap(({ secretHeaders = [] }) => secretHeaders),
        verify(delivery) {
          const chosen = built.find(({ when }) => findHeader(delivery, when) !== undefined)
          return chosen?.verify(delivery) ?? { ok: false, reason: 'missing-header' }
        },
      }
    },
  }
}
