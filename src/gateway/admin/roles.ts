/** Who may do what with a gateway, from the least to the most. Each may also do what those before it may. */
export const ROLES = ['viewer', 'operator', 'admin'] as const

/**
 * - `viewer`: sees everything, payloads as well.
 * - `operator`: also acts on events and messages, and pauses.
 * - `admin`: also erases and prunes, which cannot be undone.
 */
export type Role = (typeof ROLES)[number]

/** Whether one role may do what needs the other. */
export function isEnough(role: Role, needed: Role): boolean {
  return ROLES.indexOf(role) >= ROLES.indexOf(needed)
}
