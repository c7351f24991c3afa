/**
 * The parts of undici that connect and send. Its entry would take in `fetch`, WebSocket and caches, 385 KB more in the
 * command's one file, and would put an agent of its own behind Node's `fetch`.
 *
 * @module
 */

declare module 'undici/lib/core/connect.js' {
  import { buildConnector } from 'undici'
  // undici is CommonJS: what a file exports is its default.
  // eslint-disable-next-line no-restricted-syntax
  export default buildConnector
}

declare module 'undici/lib/dispatcher/agent.js' {
  import { Agent } from 'undici'
  // eslint-disable-next-line no-restricted-syntax
  export default Agent
}
