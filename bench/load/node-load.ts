/**
 * The load generator for machines without wrk: the same requests over the same number of connections,
 * one request at a time on each. It takes more of the processor than wrk does, so its rates are lower
 * for every server alike.
 *
 * @module
 */

import { openSync, readSync } from 'node:fs'
import { connect } from 'node:net'
import type { Socket } from 'node:net'
import { CONNECTIONS } from './generate.ts'

const [port, seconds, file, requestBytes, count, first] = process.argv.slice(2)
const size = Number(requestBytes)
const handle = openSync(file!, 'r')
let index = Number(first)
let requests = 0
let refused = 0
let socketErrors = 0
const latenciesUs: number[] = []
const startedAt = performance.now()
const endsAt = startedAt + Number(seconds) * 1_000

await Promise.all(Array.from({ length: CONNECTIONS }, () => runConnection()))
const durationUs = Math.round((performance.now() - startedAt) * 1_000)
latenciesUs.sort((a, b) => a - b)
const percentile = (part: number) =>
  Math.round(latenciesUs[Math.floor(latenciesUs.length * part)] ?? 0)
const report = {
  requests,
  durationUs,
  refused,
  socketErrors,
  p50Us: percentile(0.5),
  p99Us: percentile(0.99),
}
console.log(`RESULT ${JSON.stringify(report)}`)

/** One that is closed on us, or not answered for as long as wrk would wait, is an error, and made anew. */
async function runConnection(): Promise<void> {
  while (performance.now() < endsAt) {
    if (await keepSending(connect(Number(port), '127.0.0.1'))) return
    socketErrors += 1
  }
}

/** Whether it lasted until the end. */
function keepSending(socket: Socket): Promise<boolean> {
  return new Promise((resolve) => {
    let received = ''
    let sentAt = 0
    let hasEnded = false
    const send = () => {
      hasEnded = performance.now() >= endsAt
      if (hasEnded) return void socket.destroy()
      sentAt = performance.now()
      socket.write(readRequest())
    }
    socket.setNoDelay(true).setEncoding('latin1').setTimeout(10_000)
    socket.on('connect', send)
    socket.on('timeout', () => socket.destroy())
    socket.on('error', () => undefined)
    socket.on('close', () => resolve(hasEnded))
    socket.on('data', (text: string) => {
      received += text
      const headEnd = received.indexOf('\r\n\r\n')
      if (headEnd === -1) return
      const length = Number(/content-length: (\d+)/i.exec(received)?.[1] ?? 0)
      if (received.length < headEnd + 4 + length) return
      requests += 1
      if (Number(received.slice(9, 12)) >= 400) refused += 1
      latenciesUs.push((performance.now() - sentAt) * 1_000)
      received = ''
      send()
    })
  })
}

function readRequest(): Buffer {
  const request = Buffer.allocUnsafe(size)
  readSync(handle, request, 0, size, (index % Number(count)) * size)
  index += 1
  return request
}
