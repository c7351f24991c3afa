import type { ResolvedConfig } from './config/schema.ts'

/** Why a running gateway cannot take over another config, if it cannot: some of it is bound when a process starts. */
export function findRefusal(before: ResolvedConfig, after: ResolvedConfig): string | undefined {
  const parts = {
    processes: (config: ResolvedConfig) => config.processes,
    store: (config: ResolvedConfig) => config.store,
    roles: (config: ResolvedConfig) => config.roles.toSorted(),
    'receive.host': (config: ResolvedConfig) => config.receive.host,
    'receive.port': (config: ResolvedConfig) => config.receive.port,
    'receive.bodyTimeoutMs': (config: ResolvedConfig) => config.receive.bodyTimeoutMs,
    'receive.keepAliveTimeoutMs': (config: ResolvedConfig) => config.receive.keepAliveTimeoutMs,
    admin: (config: ResolvedConfig) => config.admin,
  }
  const changed = Object.entries(parts)
    .filter(([, read]) => JSON.stringify(read(before)) !== JSON.stringify(read(after)))
    .map(([name]) => name)
  return changed.length === 0 ? undefined : `${changed.join(', ')} cannot be changed while it runs`
}
