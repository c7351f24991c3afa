/**
 * Writes the reference of the command from its own tree: what `--help` says, as a page.
 *
 *     npm run generate:cli
 *
 * @module
 */

import fs from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Command } from 'commander'
import { createProgram } from '../src/cli/program.ts'
import type { Shell } from '../src/cli/shell.ts'

const ROOT = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '..')
const PAGE = 'docs/reference/cli.md'
const COLUMNS = 100

/** The file and what it should say. */
export function generateCliDocs(): Readonly<Record<string, string>> {
  const program = createProgram(silentShell())
  const commands = listCommands(program, [])
  return {
    [PAGE]: [
      '# The command line',
      '',
      '`hookonce` runs a [gateway](../gateway.md) and looks after events, its own or those of a library user: all it needs is the database. This page is made from the commands themselves, by `npm run generate:cli`; `hookonce <command> --help` says the same.',
      '',
      ...INTRODUCTION,
      '## Commands',
      '',
      '| command | what it does |',
      '| --- | --- |',
      ...commands.map(
        ({ name, command }) =>
          `| [\`${name}\`](#${anchorOf(name)}) | ${command.description().replaceAll('|', '\\|')} |`,
      ),
      '',
      ...commands.flatMap(({ name, command }) => [
        `## \`${name}\``,
        '',
        '```text',
        helpOf(command),
        '```',
        '',
      ]),
    ].join('\n'),
  }
}

const INTRODUCTION = [
  '## Where the events are',
  '',
  '`--store sqlite:<file>`, `--store postgres://…` or `--store env:DATABASE_URL` names the database. Without it the config of the folder does, or `HOOKONCE_STORE`; with `--config` beside it, the config says the rest, such as the keys of encryption. `--url http://127.0.0.1:4401` names a running gateway by its admin listener instead, and `--token`, or `HOOKONCE_TOKEN`, is what it knows you by; `HOOKONCE_URL` stands for `--url` where neither `--store` nor `--config` is said. Those that have no `--url` need the database itself. A command that looks after events makes no database and migrates none, nor does `trigger`: `hookonce migrate` does, and `hookonce token create`, unless the config says `"migrate": "check"`. A flag that has no effect beside the others is refused.',
  '',
  'What changes something is in the audit with who did it: `--actor`, or `HOOKONCE_ACTOR`, or your name on the machine.',
  '',
  '## Which events are meant',
  '',
  "A filter is made of terms, and all of them must hold: `state:dead source:stripe after:2h`. A value in the payload is `'$.data.customer=cus_9'`, in quotes for your shell.",
  '',
  '## For programs',
  '',
  '`--json` prints one document, or one line for each event with `tail`. Every field is always there, `null` where it has no value; times are ISO 8601, bytes are base64.',
  '',
  '| exit code | meaning |',
  '| --- | --- |',
  '| 0 | it worked |',
  '| 1 | it was tried and did not work, or was refused: the output says why, and what to do instead |',
  '| 2 | the command line or the config cannot be meant; nothing was tried |',
  '| 3 | nothing matches |',
  '| 4 | a store or a gateway does not answer, or is not ready |',
  '',
  'What cannot be undone is asked for on a terminal, and needs `--yes` anywhere else. Text of senders is escaped, in tables, in JSON and in errors; `events body` writes bytes as they came only where the output is no terminal. Colours are for terminals, and `NO_COLOR` turns them off.',
  '',
] as const

interface Named {
  readonly name: string
  readonly command: Command
}

/** Those that do something, by their words. */
function listCommands(command: Command, words: readonly string[]): readonly Named[] {
  return command.commands.flatMap((each) => {
    const own = [...words, each.name()]
    return each.commands.length > 0
      ? listCommands(each, own)
      : [{ name: own.join(' '), command: each }]
  })
}

function helpOf(command: Command): string {
  let text = ''
  command.configureOutput({
    writeOut: (part) => (text += part),
    getOutHelpWidth: () => COLUMNS,
  })
  command.outputHelp()
  return text.trim()
}

function anchorOf(name: string): string {
  return name.replaceAll(' ', '-')
}

function silentShell(): Shell {
  const ignore = (): void => undefined
  return {
    folder: ROOT,
    environment: {},
    columns: COLUMNS,
    isTerminal: false,
    isInteractive: false,
    hasColour: false,
    interrupted: new AbortController().signal,
    print: ignore,
    printError: ignore,
    write: ignore,
    showProgress: ignore,
    ask: () => Promise.resolve(''),
    endWith: ignore,
  }
}

async function main(): Promise<void> {
  const { format, resolveConfig } = await import('prettier')
  for (const [file, text] of Object.entries(generateCliDocs())) {
    const target = path.join(ROOT, file)
    const options = { ...(await resolveConfig(target)), filepath: target }
    fs.writeFileSync(target, await format(text, options))
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await main()
