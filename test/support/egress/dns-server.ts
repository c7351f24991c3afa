/**
 * A DNS server over real UDP whose answers a test decides, question by question, with a lifetime of
 * zero seconds; and a resolver in the shape of `dns.lookup` that asks it.
 *
 * @module
 */

import { createSocket } from 'node:dgram'
import { promises } from 'node:dns'
import { isIPv4 } from 'node:net'
import { once } from 'node:events'
import { onTestFinished } from 'vitest'
import type { ResolveAll } from '../../../src/egress/connection-check.ts'
import { parseAddress } from '../../../src/egress/parse-address.ts'

export interface DnsServer {
  readonly resolve: ResolveAll
  /** The names that were asked for, each once for a look-up. */
  readonly asked: string[]
}

/** @param answer - the addresses for a name, at its nth look-up from 0; `undefined` to fail */
export async function startDnsServer(
  answer: (name: string, nth: number) => readonly string[] | undefined,
): Promise<DnsServer> {
  const answers = new Map<string, readonly string[] | undefined>()
  const socket = createSocket('udp4')
  socket.on('message', (query, { port, address }) => {
    socket.send(respond(query, answers.get(readName(query).name.toLowerCase())), port, address)
  })
  socket.bind(0, '127.0.0.1')
  await once(socket, 'listening')
  onTestFinished(() => void socket.close())
  const resolver = new promises.Resolver({ timeout: 5_000, tries: 2 })
  resolver.setServers([`127.0.0.1:${socket.address().port}`])
  const asked: string[] = []
  return {
    asked,
    resolve: (hostname, _options, callback) => {
      const name = hostname.toLowerCase()
      // One look-up is two questions, for A and for AAAA, which get one answer between them.
      answers.set(name, answer(name, asked.filter((one) => one === name).length))
      asked.push(name)
      void Promise.allSettled([resolver.resolve4(name), resolver.resolve6(name)]).then(
        ([v4, v6]) => {
          const found = [v4, v6].flatMap((one) => (one.status === 'fulfilled' ? one.value : []))
          const failure = v4.status === 'rejected' ? (v4.reason as NodeJS.ErrnoException) : null
          callback(
            found.length === 0 ? failure : null,
            found.map((address) => ({ address, family: isIPv4(address) ? 4 : 6 })),
          )
        },
      )
    },
  }
}

function readName(query: Buffer): { name: string; end: number; type: number } {
  const labels: string[] = []
  let at = 12
  for (let length = query[at] ?? 0; length > 0; length = query[at] ?? 0) {
    labels.push(query.subarray(at + 1, at + 1 + length).toString('latin1'))
    at += 1 + length
  }
  return { name: labels.join('.'), end: at + 5, type: query.readUInt16BE(at + 1) }
}

/** RFC 1035, section 4: the question again, then an answer for each address of the asked kind. */
function respond(query: Buffer, addresses: readonly string[] | undefined): Buffer {
  const { end, type } = readName(query)
  const size = type === 1 ? 4 : 16
  const found = (addresses ?? [])
    .map((address) => Buffer.from(parseAddress(address) ?? []))
    .filter((bytes) => bytes.byteLength === size)
  const header = Buffer.from(query.subarray(0, 12))
  header.writeUInt16BE(addresses === undefined ? 0x8182 : 0x8180, 2)
  header.writeUInt16BE(found.length, 6)
  header.writeUInt32BE(0, 8)
  const records = found.map((bytes) => {
    const record = Buffer.alloc(12)
    record.writeUInt16BE(0xc00c, 0) // the name of the question
    record.writeUInt16BE(type, 2)
    record.writeUInt16BE(1, 4)
    record.writeUInt16BE(bytes.byteLength, 10)
    return Buffer.concat([record, bytes])
  })
  return Buffer.concat([header, query.subarray(12, end), ...records])
}
