/**
 * Waits until a condition holds, looking often. It is the condition that is waited for: the limit only
 * turns a test that would hang into one that says what it waited for.
 */
export async function until(
  what: string,
  holds: () => Promise<boolean> | boolean,
  { limitMs = 60_000, everyMs = 20 }: { readonly limitMs?: number; readonly everyMs?: number } = {},
): Promise<void> {
  const giveUpAt = performance.now() + limitMs
  while (!(await holds())) {
    if (performance.now() > giveUpAt) throw new Error(`Waited in vain until ${what}`)
    await new Promise((resolve) => setTimeout(resolve, everyMs))
  }
}
