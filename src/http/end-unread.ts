import type { Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'

/**
 * Ends a connection whose client does not read what it is answered: for so long nothing of it has left this machine.
 *
 * Node has a limit for each part of a request and none for its answer. A client that sends request after request and
 * reads nothing fills the buffers between the two; then Node reads nothing from it either, so that none of its other
 * limits ever comes, and the connection stays for good. An answer that is still being made is waited for.
 *
 * Called when the listeners for requests are there: one for `checkContinue` or `checkExpectation` where there was none
 * would keep Node from answering by itself.
 *
 * `test/http/end-unread.test.ts` holds all of them.
 */
export function endUnread(server: Server, unreadMs: number): void {
  const answersOf = new WeakMap<Socket, Set<ServerResponse>>()
  const events = ['request', 'checkContinue', 'checkExpectation']
  for (const event of events.filter((name) => server.listenerCount(name) > 0))
    server.prependListener(
      event,
      ({ socket }: { readonly socket: Socket }, response: ServerResponse) => {
        const answers = answersOf.get(socket) ?? new Set()
        answersOf.set(socket, answers.add(response))
        response.once('close', () => answers.delete(response))
      },
    )
  // Without this listener Node would end all of them.
  server.setTimeout(unreadMs, (socket) => {
    const answers = answersOf.get(socket)
    // Before anything was answered the limit for headers counts. Some requests Node answers by itself, and tells of none.
    const isWaiting =
      answers === undefined
        ? socket.bytesWritten === 0
        : [...answers].some(({ writableEnded }) => !writableEnded)
    if (isWaiting && socket.writableLength === 0) socket.setTimeout(unreadMs)
    else socket.destroy()
  })
}
