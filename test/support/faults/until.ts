/**
 * Waits until a condition holds, looking often. It is the condition that is waited for: the limit only
 * turns a test that would hang into one that says what it waited for.
 *
 * The limit is counted in looks, and not by a clock: on a machine that has other work to do each look comes
 * later, as what is waited for does.
 */
export async function until(
  what: string,
  holds: () => Promise<boolean> | boolean,
  { limitMs = 60_000, everyMs = 20 }: { readonly limitMs?: number; readonly everyMs?: number } = {},
): Promise<void> {
  for (let waitedMs = 0; !(await holds()); waitedMs += everyMs) {
    if (waitedMs > limitMs) throw new Error(`Waited in vain until ${what}`)
    await new Promise((resolve) => setTimeout(resolve, everyMs))
  }
}
