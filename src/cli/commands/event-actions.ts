/**
 * `hookonce retry`, `replay`, `release`, `discard`, `forget` and `resolve-step`: what is done with single events. What
 * each makes of which state is a table in `src/model/event-action.ts`.
 *
 * @module
 */

import { InvalidArgumentError } from 'commander'
import type { Command } from 'commander'
import { actOnEach } from '../act-on-each.ts'
import type { EachAction } from '../act-on-each.ts'
import { EXIT } from '../exit-codes.ts'
import { withActionFlags } from '../operator-flags.ts'
import type { ActionFlags } from '../operator-flags.ts'
import { readNamedFile } from '../read-named-file.ts'
import { refuseIdleFlags } from '../refuse-idle-flags.ts'
import type { Shell } from '../shell.ts'

export function addEventActions(program: Command, shell: Shell): void {
  withActionFlags(program.command('retry'))
    .description('run dead events again; one that waits for its next attempt is due now')
    .argument('<id...>', 'the ids of events')
    .addHelpText(
      'after',
      examples('retry <id>', "retry <id> <id> --reason 'the warehouse is back'"),
    )
    .action(async (ids: string[], flags: ActionFlags) =>
      act(shell, ids, flags, {
        did: 'is ready to run',
        do: (operator, id, options) => operator.retry(id, options),
      }),
    )
  addReplay(program, shell)
  withActionFlags(program.command('release'), { needsReason: true })
    .description('run conflicts or quarantined events, each as an event of its own')
    .argument('<id...>', 'the ids of events')
    .option('--yes', 'without asking')
    .addHelpText(
      'after',
      examples("release <id> --reason 'the sender sends two orders under one id'"),
    )
    .action(async (ids: string[], flags: ReasonedFlags) =>
      act(shell, ids, flags, {
        asks: (count) => `Run ${count}? Nothing has checked that the effect has not happened.`,
        did: 'is released',
        do: (operator, id, options) => operator.release(id, { ...options, reason: flags.reason }),
      }),
    )
  withActionFlags(program.command('discard'), { needsReason: true })
    .description('end events that are not running: they never run, and a redelivery is a duplicate')
    .argument('<id...>', 'the ids of events')
    .option('--yes', 'without asking')
    .addHelpText('after', examples("discard <id> --reason 'a test of the sender'"))
    .action(async (ids: string[], flags: ReasonedFlags) =>
      act(shell, ids, flags, {
        asks: (count) => `Discard ${count} for good?`,
        did: 'is discarded',
        do: (operator, id, options) => operator.discard(id, { ...options, reason: flags.reason }),
      }),
    )
  withActionFlags(program.command('forget'))
    .description(
      "drop the keys of events that have ended: the sender's redelivery then runs afresh",
    )
    .argument('<id...>', 'the ids of events')
    .option('--yes', 'without asking')
    .addHelpText('after', examples('forget <id>'))
    .action(async (ids: string[], flags: ActionFlags) => {
      let from: Date | undefined
      await act(shell, ids, flags, {
        asks: (count) => `Forget ${count}? A redelivery has its effect once more.`,
        did: 'is forgotten',
        do: async (operator, id, options) => {
          const result = await operator.forget(id, options)
          if (result.status === 'done') from = result.redeliverFrom
          return result
        },
      })
      if (from !== undefined && flags.json !== true)
        shell.print(
          `Have it sent after ${from.toISOString()}: until then a process may take it for a duplicate.`,
        )
    })
  addResolveStep(program, shell)
}

type ReasonedFlags = ActionFlags & { readonly reason: string }

interface ReplayFlags extends ReasonedFlags {
  readonly freshKeys?: boolean
  readonly onlyIfNotApplied?: boolean
  readonly body?: string
}

function addReplay(program: Command, shell: Shell): void {
  withActionFlags(program.command('replay'), { needsReason: true })
    .description('run events once more that have come to their end: done, skipped or discarded')
    .argument('<id...>', 'the ids of events')
    .option('--fresh-keys', 'with idempotency keys of its own: outside calls are made once more')
    .option('--only-if-not-applied', 'not those of which a run has ended as done')
    .option('--body <file>', 'what the handlers get in place of the body')
    .option('--yes', 'without asking')
    .addHelpText('after', examples("replay <id> --reason 'rows were lost'"))
    .action(async (ids: string[], flags: ReplayFlags) => {
      const { freshKeys, onlyIfNotApplied, reason } = flags
      const body =
        flags.body === undefined ? undefined : readNamedFile(shell.folder, '--body', flags.body)
      const terms = {
        reason,
        ...(freshKeys !== undefined && { freshKeys }),
        ...(onlyIfNotApplied !== undefined && { onlyIfNotApplied }),
        ...(body !== undefined && { body }),
      }
      await act(shell, ids, flags, {
        asks: (count) => `Run ${count} once more? What was applied is applied again.`,
        did: 'is ready to run once more',
        do: (operator, id, options) => operator.replay(id, { ...options, ...terms }),
      })
    })
}

interface StepFlags extends ActionFlags {
  readonly happened?: boolean
  readonly notHappened?: boolean
  readonly result?: unknown
  readonly handler?: string
}

function addResolveStep(program: Command, shell: Shell): void {
  withActionFlags(program.command('resolve-step'))
    .description('say what became of a call whose outcome is not known; then retry the event')
    .argument('<id>', 'the id of the event')
    .argument('<step>', 'the name of the step')
    .option('--happened', 'the other side has done it')
    .option('--not-happened', 'it has not: the call is made when the event runs again')
    .option('--result <json>', 'what the step shall return, with --happened', readJson)
    .option('--handler <name>', 'where several handlers have a step of that name')
    .addHelpText(
      'after',
      examples(
        `resolve-step <id> charge --happened --result '{"id":"ch_1"}'`,
        'resolve-step <id> charge --not-happened',
      ),
    )
    .action(async (id: string, step: string, flags: StepFlags) => {
      const { happened = false, notHappened = false, result, handler } = flags
      if (happened === notHappened) {
        shell.printError(
          'Say --happened or --not-happened, after you have looked at the other side.',
        )
        return shell.endWith(EXIT.usage)
      }
      if (notHappened)
        refuseIdleFlags(flags, ['result'], 'a call that has not happened has none. Leave it out')
      const decision = {
        happened,
        ...(result !== undefined && { result }),
        ...(handler !== undefined && { handler }),
      }
      await act(shell, [id], flags, {
        did: `has its step ${step} settled. hookonce retry ${id} runs it`,
        do: (operator, eventId, options) => operator.resolveStep(eventId, step, decision, options),
      })
    })
}

interface Action {
  /** What is asked before, where it cannot be undone. */
  readonly asks?: (what: string) => string
  /** What is true of an event afterwards. */
  readonly did: string
  readonly do: EachAction['act']
}

async function act(
  shell: Shell,
  ids: readonly string[],
  flags: ActionFlags,
  { asks, did, do: choose }: Action,
): Promise<void> {
  const what = ids.length === 1 ? `event ${ids[0]}` : `${ids.length} events`
  await actOnEach(shell, flags, {
    ids,
    question: asks?.(what),
    did: (id) => `${id} ${did}.`,
    act: choose,
  })
}

function readJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    throw new InvalidArgumentError('It must be JSON.')
  }
}

function examples(...lines: readonly string[]): string {
  return `\nExamples:\n${lines.map((line) => `  hookonce ${line}`).join('\n')}`
}
