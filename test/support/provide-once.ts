import type { ProvidedContext } from 'vitest'
import type { TestProject } from 'vitest/node'

/**
 * Provides a value to every project of this run, made by the first project that asks: projects are set up one
 * after the other, and all of them see what the root provides. Returns what takes it down again, once.
 */
export async function provideOnce<Name extends keyof ProvidedContext>(
  project: TestProject,
  name: Name,
  make: () => Made<ProvidedContext[Name]> | Promise<Made<ProvidedContext[Name]>>,
): Promise<() => Promise<void>> {
  const root = project.vitest.getRootProject()
  if (name in root.getProvidedContext()) return async () => undefined
  const { value, dispose } = await make()
  root.provide(name, value)
  return async () => dispose?.()
}

export interface Made<Value> {
  readonly value: Value
  readonly dispose?: () => Promise<void>
}
