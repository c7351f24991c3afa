/** How a command ended, for scripts. */
export const EXIT = Object.freeze({
  ok: 0,
  /** It was tried and did not work. */
  failed: 1,
  /** The command line or the config cannot be meant. Nothing was tried. */
  usage: 2,
  /** There is nothing that matches. */
  nothing: 3,
  /** A store or a gateway does not answer. */
  notReady: 4,
})
