/**
 * Completions for shells, made from the tree of commands: what there is can never differ from what is offered.
 *
 * @module
 */

import type { Command } from 'commander'

/** A command by the words that lead to it, and what may come after them. */
interface Place {
  readonly words: readonly string[]
  readonly commands: readonly { readonly name: string; readonly description: string }[]
  readonly flags: readonly { readonly name: string; readonly description: string }[]
}

export const SHELLS = ['bash', 'zsh', 'fish'] as const

export function writeCompletion(program: Command, shell: (typeof SHELLS)[number]): string {
  const places = listPlaces(program, [])
  if (shell === 'fish') return writeFish(places)
  return shell === 'bash' ? writeBash(places) : writeZsh(places)
}

function listPlaces(command: Command, words: readonly string[]): readonly Place[] {
  const help = command.createHelp()
  const commands = help.visibleCommands(command).map((each) => ({
    name: each.name(),
    description: each.description(),
  }))
  const flags = help
    .visibleOptions(command)
    .flatMap(({ long, description }) =>
      long === null || long === undefined ? [] : [{ name: long, description }],
    )
  return [
    { words, commands, flags },
    ...command.commands.flatMap((each) => listPlaces(each, [...words, each.name()])),
  ]
}

/** `case` arms that go one command deeper for each word that names one. */
function writeDescent(places: readonly Place[]): readonly string[] {
  return places
    .filter(({ words }) => words.length > 0)
    .map(({ words }) => `      "/${words.join('/')}") place="/${words.join('/')}" ;;`)
}

function writeBash(places: readonly Place[]): string {
  return [
    '# hookonce completion bash > /etc/bash_completion.d/hookonce',
    '_hookonce() {',
    '  local current="${COMP_WORDS[COMP_CWORD]}" place="" word',
    '  for word in "${COMP_WORDS[@]:1:COMP_CWORD-1}"; do',
    '    case "$place/$word" in',
    ...writeDescent(places),
    '    esac',
    '  done',
    '  case "$place" in',
    ...places.map(
      ({ words, commands, flags }) =>
        `    "${place(words)}") COMPREPLY=($(compgen -W "${[...commands, ...flags].map(({ name }) => name).join(' ')}" -- "$current")) ;;`,
    ),
    '  esac',
    '}',
    'complete -o default -F _hookonce hookonce',
  ].join('\n')
}

function writeZsh(places: readonly Place[]): string {
  return [
    '#compdef hookonce',
    '# hookonce completion zsh > "${fpath[1]}/_hookonce"',
    '_hookonce() {',
    '  local place="" word',
    '  local -a offered',
    '  for word in "${(@)words[2,CURRENT-1]}"; do',
    '    case "$place/$word" in',
    ...writeDescent(places),
    '    esac',
    '  done',
    '  case "$place" in',
    ...places.map(
      ({ words, commands, flags }) =>
        `    "${place(words)}") offered=(${[...commands, ...flags].map(({ name, description }) => quote(`${name}:${description.replaceAll(':', '\\:')}`)).join(' ')}) ;;`,
    ),
    '  esac',
    "  _describe 'hookonce' offered || _files",
    '}',
    'compdef _hookonce hookonce',
  ].join('\n')
}

function writeFish(places: readonly Place[]): string {
  return [
    '# hookonce completion fish > ~/.config/fish/completions/hookonce.fish',
    'function __hookonce_at',
    '  set -l place ""',
    '  for word in (commandline -opc)[2..-1]',
    '    switch "$place/$word"',
    ...places
      .filter(({ words }) => words.length > 0)
      .map(
        ({ words }) =>
          `      case ${quote(place(words))}\n        set place ${quote(place(words))}`,
      ),
    '    end',
    '  end',
    '  test "$place" = "$argv[1]"',
    'end',
    ...places.flatMap(({ words, commands, flags }) => {
      const here = `complete -c hookonce -n ${quote(`__hookonce_at "${place(words)}"`)}`
      return [
        ...commands.map(
          ({ name, description }) => `${here} -f -a ${name} -d ${quote(description)}`,
        ),
        ...flags.map(
          ({ name, description }) => `${here} -l ${name.slice(2)} -d ${quote(description)}`,
        ),
      ]
    }),
  ].join('\n')
}

function place(words: readonly string[]): string {
  return words.map((word) => `/${word}`).join('')
}

function quote(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`
}
