/** A promise that a test resolves. */
export function aSignal(): { readonly given: Promise<void>; give(): void } {
  let give: () => void = () => undefined
  const given = new Promise<void>((resolve) => (give = resolve))
  return { given, give: () => give() }
}
