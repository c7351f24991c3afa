import { execFileSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Command } from 'commander'
import { describe, expect, test } from 'vitest'
import { createProgram } from '../../src/cli/program.ts'
import type { Shell } from '../../src/cli/shell.ts'
import { aFolder, runCommand } from '../support/run-command.ts'

const leaves = listLeaves(createProgram({} as Shell), [])

describe('hookonce --help', () => {
  test.each(leaves.map((words) => [words.join(' '), words] as const))(
    'shows examples of %s, within 80 columns',
    async (_, words) => {
      const { code, output } = await runCommand([...words, '--help'], { columns: 80 })

      expect(code).toBe(0)
      expect(output).toContain('Examples:\n  ')
      expect(output).toContain(`hookonce ${words.join(' ')}`)
    },
  )

  test('a command that does not exist is refused, with the nearest', async () => {
    const { code, errors } = await runCommand(['evnts'])

    expect(code).toBe(2)
    expect(errors).toContain('Did you mean events?')
  })
})

describe('hookonce completion', () => {
  test.each([
    [['hookonce', 'ev'], ['events']],
    [['hookonce', 'events', 's'], ['show']],
    [['hookonce', 'events', 'list', '--li'], ['--limit']],
    [['hookonce', 'retry', 'some-id', '--rea'], ['--reason']],
    [['hookonce', 'messages', 're'], ['retry']],
  ])('bash completes %j', async (words, offered) => {
    const { output } = await runCommand(['completion', 'bash'])
    const file = join(aFolder(), 'completion.sh')
    writeFileSync(file, output)
    const script = `source "${file}"; COMP_WORDS=(${words.join(' ')}); COMP_CWORD=${words.length - 1}; _hookonce; echo "\${COMPREPLY[@]}"`

    const completed = execFileSync('bash', ['--norc', '-c', script], { encoding: 'utf8' })

    expect(completed.trim().split(' ')).toEqual(offered)
  })

  test.each(['zsh', 'fish'])('%s is told of every command', async (name) => {
    const { code, output } = await runCommand(['completion', name])

    expect(code).toBe(0)
    for (const words of leaves) expect(output).toContain(`/${words.join('/')}`)
  })

  test('there is none for another shell', async () => {
    expect(await runCommand(['completion', 'tcsh'])).toMatchObject({ code: 2 })
  })
})

function listLeaves(command: Command, words: readonly string[]): readonly (readonly string[])[] {
  if (command.commands.length === 0) return [words]
  return command.commands.flatMap((each) => listLeaves(each, [...words, each.name()]))
}
