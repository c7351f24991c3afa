/**
 * The load generator for machines without wrk: the same requests over the same number of connections,
 * one request at a time on each. It takes more of the processor than wrk does, so its rates are lower
 * for every server alike.
 *
 * @module
 */

import { openSync, readSync } from 'node:fs'
import { connect } from 'node:net'
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
latenciesUs.sort((a, b) => a - b)
const percentile = (part: number) =>
  Math.round(latenciesUs[Math.floor(latenciesUs.length * part)] ?? 0)
const durationUs = Math.round((performance.now() - startedAt) * 1_000)
const report = {
  requests,
  durationUs,
  refused,
  socketErrors,
  p50Us: percentile(0.5),
  p99Us: percentile(0.99),
}
console.log(`RESULT ${JSON.stringify(report)}`)

function runConnection(): Promise<void> {
  return new Promise((resolve) => {
    const socket = connect(Number(port), '127.0.0.1')
    let received = ''
    let sentAt = 0
    const send = () => {
      if (performance.now() >= endsAt) return void socket.end(resolve)
      sentAt = performance.now()
      socket.write(readRequest())
    }
    socket.setNoDelay(true).setEncoding('latin1')
    socket.on('connect', send)
    socket.on('error', () => {
      socketErrors += 1
      resolve()
    })
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
