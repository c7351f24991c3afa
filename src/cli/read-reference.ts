import { HookonceError } from '../errors.ts'
import { resolveReferences } from '../gateway/config/references.ts'
import type { ReferenceContext } from '../gateway/config/references.ts'

/**
 * What a flag says. As in a config, `env:NAME` and `file:path` stand for what is there, so that no secret is in the
 * history of a terminal.
 *
 * @throws HookonceError CONFIG_INVALID for one that stands for nothing
 */
export function readReference(
  { environment, folder }: ReferenceContext,
  flag: string,
  text: string,
): string {
  const { value, problems } = resolveReferences({ [flag]: text }, { environment, folder })
  if (problems.length > 0) throw new HookonceError('CONFIG_INVALID', problems.join('\n'))
  return String(value[flag])
}
