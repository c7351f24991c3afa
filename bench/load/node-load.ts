/**
 * The load generator for machines without wrk: the same requests over the same number of connections,
 * one request at a time on each. It takes more of the processor than wrk does, so its rates are lower
 * for every server alike.
 *
 * @module
 */

import { openSync, readSync } from 'node:fs'
import { CONNECTIONS } from './generate.ts'
import { LoadConnection } from './load-connection.ts'
import { LoadCounts } from './load-counts.ts'
import { requestAt } from './storm-order.ts'

const [port, seconds, file, requestBytes, count, first, newEvery] = process.argv.slice(2)
const size = Number(requestBytes)
const handle = openSync(file!, 'r')
const counts = new LoadCounts()
let index = Number(first)
const endsAt = performance.now() + Number(seconds) * 1_000

await Promise.all(Array.from({ length: CONNECTIONS }, () => keepSending()))
counts.print()

async function keepSending(): Promise<void> {
  const connection = new LoadConnection(Number(port))
  while (performance.now() < endsAt) {
    const sentAt = performance.now()
    counts.answered(await connection.send(readRequest()), sentAt)
  }
  connection.close()
}

function readRequest(): Buffer {
  const request = Buffer.allocUnsafe(size)
  const at = requestAt(index, Number(newEvery)) % Number(count)
  readSync(handle, request, 0, size, at * size)
  index += 1
  return request
}
