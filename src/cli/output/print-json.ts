import { escapeText } from '../../telemetry/escape-text.ts'
import type { Shell } from '../shell.ts'

/**
 * One document for programs. Fields that have no value are `null`, so that every field is there; bytes are base64. What
 * would steer a terminal is written as `\uXXXX`, which JSON reads as the same character.
 */
export function printJson(shell: Shell, value: unknown): void {
  const text = JSON.stringify(value, replace, 2)
  shell.print(text.split('\n').map(escapeText).join('\n'))
}

/** The same in one line, for what goes on. */
export function printJsonLine(shell: Shell, value: unknown): void {
  shell.print(escapeText(JSON.stringify(value, replace)))
}

function replace(this: unknown, _key: string, value: unknown): unknown {
  if (value === undefined) return null
  // A Buffer has been made an object of numbers by now.
  if (value instanceof Uint8Array) return Buffer.from(value).toString('base64')
  if (isBufferJson(value)) return Buffer.from(value.data).toString('base64')
  return value
}

function isBufferJson(value: unknown): value is { readonly data: readonly number[] } {
  return (
    typeof value === 'object' &&
    value !== null &&
    'type' in value &&
    value.type === 'Buffer' &&
    'data' in value &&
    Array.isArray(value.data)
  )
}
