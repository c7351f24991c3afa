import { escapeText } from '../../telemetry/escape-text.ts'
import type { Shell } from '../shell.ts'

/** Where a list goes on that has ended with its page. */
export function advisePage(
  shell: Shell,
  page: readonly { readonly id: string }[],
  limit: number,
): void {
  const last = page.at(-1)
  if (last !== undefined && page.length === limit)
    shell.printError(`There may be more:\n  --cursor ${escapeText(last.id)}`)
}
