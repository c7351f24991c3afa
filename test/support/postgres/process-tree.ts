/**
 * Signals to a process and its children.
 *
 * @module
 */

import { execFileSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync } from 'node:fs'

/** `kill -9` of a process and its children, the parent first so that it cannot start new ones. */
export function killTree(pid: number): void {
  kill(pid, 'SIGSTOP')
  const children = listChildren(pid)
  kill(pid, 'SIGKILL')
  for (const child of children) kill(child, 'SIGKILL')
}

/** Lets a process and its children stand still. */
export function freezeTree(pid: number): void {
  kill(pid, 'SIGSTOP')
  for (const child of listChildren(pid)) kill(child, 'SIGSTOP')
}

export function thawTree(pid: number): void {
  for (const child of listChildren(pid)) kill(child, 'SIGCONT')
  kill(pid, 'SIGCONT')
}

function kill(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal)
  } catch {
    // It has ended by itself meanwhile.
  }
}

function listChildren(parent: number): readonly number[] {
  if (existsSync('/proc/self/stat')) {
    return readdirSync('/proc')
      .filter((name) => /^\d+$/.test(name) && findParent(name) === parent)
      .map(Number)
  }
  const table = execFileSync('ps', ['-A', '-o', 'pid=,ppid='], { encoding: 'utf8' })
  return table
    .split('\n')
    .map((line) => line.trim().split(/\s+/).map(Number))
    .flatMap(([pid, ppid]) => (ppid === parent && pid !== undefined ? [pid] : []))
}

function findParent(pid: string): number | undefined {
  try {
    // The second field is the name in brackets, which may itself contain spaces and brackets.
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    return Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1])
  } catch {
    return undefined
  }
}
