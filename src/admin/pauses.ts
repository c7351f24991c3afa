import { subjectOfPause } from '../store/contract/pauses.ts'
import type { Happenings } from '../telemetry/happenings.ts'
import type { Act } from './act.ts'
import { requireOrder } from './action-options.ts'
import type { ActionOptions } from './action-options.ts'
import type { ActionResult } from './action-result.ts'
import type { Operator } from './operator.ts'
import { requireTarget } from './pause-target.ts'
import type { PauseTarget } from './pause-target.ts'
import { refuse } from './refusals.ts'

export interface PauseContext {
  readonly act: Act
  /** Something was paused or resumed. */
  readonly onPausesChanged: () => void
  readonly onActed: (acted: Happenings['operator.acted']) => void
}

export function createPauses(
  context: PauseContext,
): Pick<Operator, 'pause' | 'resume' | 'listPauses'> {
  return {
    pause: async (target, options = {}) => change(context, 'pause', target, options),
    resume: async (target, options = {}) => change(context, 'resume', target, options),
    listPauses: async () => context.act((store) => store.pauses.list()),
  }
}

async function change(
  { act, onPausesChanged, onActed }: PauseContext,
  action: 'pause' | 'resume',
  target: PauseTarget,
  options: ActionOptions,
): Promise<ActionResult> {
  const subject = requireTarget(action, target)
  const order = requireOrder(action, options)
  const acted = await act((store) => store.pauses[action](subject, order))
  if (acted.status === 'refused') return refuse(action, acted.code)
  onPausesChanged()
  onActed({ action, subject: subjectOfPause(subject), actor: order.actor, reason: order.reason })
  return acted
}
