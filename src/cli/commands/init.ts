/**
 * `hookonce init`: the few lines that a project needs, by what is in it. Nothing that is there is overwritten.
 *
 * @module
 */

import { mkdirSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import type { Command } from 'commander'
import { EXIT } from '../exit-codes.ts'
import { detectProject } from '../init/detect-project.ts'
import type { PackageManager, Project } from '../init/detect-project.ts'
import { draftConfig, draftInbox, draftMount } from '../init/draft-inbox.ts'
import { printJson } from '../output/print-json.ts'
import type { Shell } from '../shell.ts'

interface InitFlags {
  readonly gateway?: boolean
  readonly dryRun?: boolean
  readonly json?: boolean
}

/** A file to be written, and what is to be done then. */
interface Draft {
  readonly project: Project | undefined
  readonly file: string
  readonly text: string
  readonly steps: readonly string[]
}

export function addInit(program: Command, shell: Shell): void {
  program
    .command('init')
    .description(
      'write the few lines that a project needs, by its framework, ORM and package manager',
    )
    .option('--gateway', 'a config for a gateway, also where there is a package.json')
    .option('--dry-run', 'print what would be written')
    .option('--json', 'for programs')
    .addHelpText('after', '\nExamples:\n  hookonce init\n  hookonce init --gateway --dry-run')
    .action((flags: InitFlags) => init(shell, flags))
}

function init(shell: Shell, { gateway, dryRun, json }: InitFlags): void {
  const project = gateway === true ? undefined : detectProject(shell.folder)
  const draft = project === undefined ? draftGateway() : draftService(project)
  const isWritten = dryRun !== true && writeNew(path.join(shell.folder, draft.file), draft.text)
  if (dryRun !== true && !isWritten) shell.endWith(EXIT.failed)
  if (json === true) return printJson(shell, { ...draft, isWritten })
  if (dryRun === true) shell.print(`${draft.file} would be:\n\n${draft.text}`)
  else if (isWritten)
    shell.print(`Wrote ${draft.file}${project === undefined ? '' : ` ${describe(project)}`}.`)
  else
    return shell.printError(
      `${draft.file} is there already, and was left as it is. See hookonce init --dry-run.`,
    )
  shell.print('\nNext:')
  for (const step of draft.steps) shell.print(step === '' ? '' : `  ${step}`)
}

/** Whether it was written: not over a file that is there, whichever process made it when. */
function writeNew(file: string, text: string): boolean {
  mkdirSync(path.dirname(file), { recursive: true })
  try {
    writeFileSync(file, text, { flag: 'wx' })
    return true
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'EEXIST') return false
    throw error
  }
}

function draftGateway(): Draft {
  return {
    project: undefined,
    file: 'hookonce.config.json',
    text: draftConfig(),
    steps: [
      'export STRIPE_WEBHOOK_SECRET=whsec_…    the secret that your sender shows',
      'export APP_WEBHOOK_SECRET=…             one of your own: what the service checks webhook-signature with',
      'npx hookonce doctor                     checks what was written',
      'npx hookonce start                      receives on http://127.0.0.1:4400/in/stripe',
      'npx hookonce trigger stripe invoice.paid --times 10 --parallel',
    ],
  }
}

const ADD: Readonly<Record<PackageManager, string>> = {
  npm: 'npm install',
  pnpm: 'pnpm add',
  yarn: 'yarn add',
  bun: 'bun add',
}

function draftService(project: Project): Draft {
  const { codeFolder, isTypeScript, engine, packageManager, hasHookonce, orm } = project
  const packages = [...(hasHookonce ? [] : ['hookonce']), engine === 'postgres' ? 'pg' : 'libsql']
  return {
    project,
    file: path.posix.join(codeFolder, isTypeScript ? 'inbox.ts' : 'inbox.js'),
    text: draftInbox(project),
    steps: [
      `${ADD[packageManager]} ${packages.join(' ')}`,
      '',
      ...draftMount(project),
      '',
      ...(orm === undefined
        ? []
        : [`Handlers that write through ${orm}: node_modules/hookonce/docs/guides/${orm}.md`]),
      'Set STRIPE_WEBHOOK_SECRET' +
        (engine === 'postgres' ? ' and DATABASE_URL, then start it.' : ', then start it.'),
      'Other senders than Stripe: node_modules/hookonce/docs/providers/README.md',
    ],
  }
}

function describe({ framework, orm, engine }: Project): string {
  const parts = [framework, orm, engine === 'postgres' ? 'PostgreSQL' : 'SQLite']
  return `for ${parts.filter((part) => part !== undefined).join(', ')}`
}
