import type { RawSender } from './raw-exchange.ts'

/** One chunk of a chunked body, with what stands around it. */
export function chunkOf(bytes: number): Buffer {
  return Buffer.concat([
    Buffer.from(`${bytes.toString(16)}\r\n`),
    Buffer.alloc(bytes, 'x'),
    Buffer.from('\r\n'),
  ])
}

/**
 * Sends the same bytes again and again, as fast as they are taken, and says how many it had sent when
 * the other side closed or the most was reached.
 */
export async function writeUntilClosed(
  { socket }: RawSender,
  bytes: Uint8Array,
  bytesMax: number,
): Promise<number> {
  let written = 0
  let goOn = (): void => undefined
  socket.on('drain', () => goOn())
  socket.on('close', () => goOn())
  while (written < bytesMax && socket.writable) {
    written += bytes.length
    if (!socket.write(bytes)) await new Promise<void>((resolve) => (goOn = resolve))
  }
  return written
}
