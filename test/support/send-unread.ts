import { connect } from 'node:net'

/**
 * Sends request after request, reads no answer, and resolves when it is cut off.
 *
 * Each request has 64 bytes, so that none is cut where a server reads 64 KiB at a time: one that has come in part would
 * meet the limit for headers.
 */
export function sendUnread(port: number): Promise<void> {
  const start = 'GET /nothing HTTP/1.1\r\nhost: localhost\r\nx: '
  const requests = `${start.padEnd(60, 'x')}\r\n\r\n`.repeat(1_024)
  return new Promise((resolve) => {
    const socket = connect({ port, host: '127.0.0.1' })
    const send = (): void => {
      while (!socket.destroyed && socket.write(requests));
    }
    socket.on('connect', send).on('drain', send)
    socket.on('error', () => undefined).on('close', () => resolve())
    // Nothing reads: there is no listener for data.
    socket.pause()
  })
}
