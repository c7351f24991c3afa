import type { AuditRecord, SubjectKind } from '../contract/operators.ts'

/** What was done, and to what, as a row of the audit names it. */
export interface Deed {
  readonly action: string
  readonly kind: SubjectKind
  readonly id: string
}

/** A run of the pruner that a person has ordered: it is about all that is kept. */
export const ORDERED_PRUNE: Deed = { action: 'prune', kind: 'retention', id: 'all' }

/** A row of the audit, by its token. */
export interface FoundAudit {
  readonly auditId: string
  readonly outcome: AuditRecord['outcome']
}
