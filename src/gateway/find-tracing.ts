import { createRequire } from 'node:module'
import path from 'node:path'
import { asError, HookonceError } from '../errors.ts'
import type { Tracing } from '../index.ts'
import { openTelemetry } from '../tracing/opentelemetry.ts'

/**
 * Spans of the OpenTelemetry that is installed beside the config: what is exported where is set up there, and not by us.
 *
 * @throws HookonceError CONFIG_INVALID where it is not installed
 */
export function findTracing(folder: string): Tracing {
  const load = createRequire(path.join(folder, 'hookonce.config.js'))
  try {
    return openTelemetry(load('@opentelemetry/api') as Parameters<typeof openTelemetry>[0])
  } catch (error) {
    throw new HookonceError(
      'CONFIG_INVALID',
      `tracing: @opentelemetry/api cannot be loaded from ${folder}. Install it there, and start with NODE_OPTIONS="--import ./tracing.mjs", where tracing.mjs sets up your SDK (${asError(error).message.split('\n')[0]})`,
    )
  }
}
