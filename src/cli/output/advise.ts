/**
 * What to do instead, at a terminal. An operator's refusals name calls of the library, for the code that calls it; a person
 * at a terminal has commands. Every call that a refusal can name is here with its command, and
 * `test/cli/advise.test.ts` goes through all refusals there are.
 *
 * @module
 */

/** In the words of `src/admin/refusals.ts`. `<id>` is the subject of the action. */
const COMMANDS: readonly (readonly [said: string, command: string])[] = [
  ['listEventsByKey(source, key)', 'hookonce events find <key>'],
  ['show(id)', 'hookonce events show <id>'],
  ['listSteps(eventId)', 'hookonce events show <id>'],
  ['findMessage(id)', 'hookonce messages show <id>'],
  ['listPauses()', 'hookonce pauses'],
  ['listMessages()', 'hookonce messages list destination:<name>'],
  ['forget(id)', 'hookonce forget <id>'],
  ['replay(id, { reason, body })', 'hookonce replay <id> --reason <why> --body <file>'],
  ['stats()', 'hookonce stats'],
  ['Leave onlyIfNotApplied out', 'Leave --only-if-not-applied out'],
  [
    'Plan one with bulk.plan, and use the id that it returns.',
    'Those that are not finished: hookonce bulk list.',
  ],
  ['Wait for bulk.plan to return', 'Wait for it'],
  ['call prune({ force: true, reason })', 'hookonce prune --force --reason <why>'],
  [
    'Start an inbox once, or call inbox.admin.prune() of one.',
    'Start a gateway or a service with an inbox on it once.',
  ],
]

const ID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/

/** The advice with commands in it. */
export function advise(instead: string, subject: string): string {
  const id = ID.test(subject) ? subject : '<id>'
  return COMMANDS.reduce(
    (text, [said, command]) => text.replaceAll(said, () => command.replaceAll('<id>', id)),
    instead,
  )
}
