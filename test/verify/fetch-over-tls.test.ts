import { generateKeyPairSync } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import type { RequestListener } from 'node:http'
import https from 'node:https'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { makeCertificate } from '../support/make-certificate.ts'
import { run } from '../support/newer-node.ts'

const MODULE = new URL('../../src/verify/fetch-over-tls.ts', import.meta.url).href
const DAY_MS = 86_400_000

describe('what fetches the keys and certificates of senders', () => {
  test('X20: refuses a host with a certificate of its own making, whatever the environment says', async () => {
    const { url, requests } = await startServer((_request, response) => response.end('a key'))

    const trusting = await fetchInChild(url, { NODE_TLS_REJECT_UNAUTHORIZED: '0' })
    const careful = await fetchInChild(url, {})

    expect(trusting).toContain('DEPTH_ZERO_SELF_SIGNED_CERT')
    expect(careful).toContain('DEPTH_ZERO_SELF_SIGNED_CERT')
    expect(requests()).toBe(0)
  })

  test('gets the text of a host whose certificate holds', async () => {
    const { url, trust } = await startServer((_request, response) => response.end('a key'))

    expect(await fetchInChild(url, trust)).toContain('answered true a key')
  })

  test('follows no redirect, and takes what is no success for none', async () => {
    const { url, trust, requests } = await startServer((_request, response) => {
      response.writeHead(302, { location: '/elsewhere' }).end()
    })

    expect(await fetchInChild(url, trust)).toContain('answered false')
    expect(requests()).toBe(1)
  })

  test('X20: reads no more of an endless answer than a key may have', async () => {
    let written = 0
    const { url, trust } = await startServer((_request, response) => {
      const chunk = Buffer.alloc(65_536, 'x')
      const write = (): void => {
        for (let room = true; room && !response.destroyed; written += chunk.byteLength)
          room = response.write(chunk)
      }
      response.on('drain', write)
      write()
    })

    expect(await fetchInChild(url, trust)).toContain('answered with too much')
    // What is in the buffers of two sockets is on its way without being asked for.
    expect(written).toBeLessThan(16_777_216)
  })
})

const OWN = generateKeyPairSync('rsa', { modulusLength: 2_048 })

/** `trust` is the environment of a process that takes the server's certificate for good. */
async function startServer(listener: RequestListener): Promise<{
  readonly url: string
  readonly requests: () => number
  readonly trust: Readonly<Record<string, string>>
}> {
  const cert = makeCertificate({
    subject: 'receiver',
    publicKey: OWN.publicKey,
    issuer: 'receiver',
    issuerKey: OWN.privateKey,
    from: new Date(Date.now() - DAY_MS),
    until: new Date(Date.now() + DAY_MS),
    addresses: ['127.0.0.1'],
  })
  const key = OWN.privateKey.export({ format: 'pem', type: 'pkcs8' }).toString()
  let requests = 0
  const server = https.createServer({ key, cert }, (request, response) => {
    requests += 1
    listener(request, response)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  const folder = mkdtempSync(join(tmpdir(), 'hookonce-tls-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const file = join(folder, 'receiver.pem')
  writeFileSync(file, cert)
  return {
    url: `https://127.0.0.1:${port}/`,
    requests: () => requests,
    trust: { NODE_EXTRA_CA_CERTS: file },
  }
}

/** In a process of its own, since the variable is the process's. */
async function fetchInChild(url: string, env: Readonly<Record<string, string>>): Promise<string> {
  const program = `
    import { fetchOverTls } from ${JSON.stringify(MODULE)}
    try {
      const answer = await fetchOverTls(${JSON.stringify(url)}, { redirect: 'error', signal: AbortSignal.timeout(20_000) })
      console.log('answered', answer.ok, await answer.text())
    } catch (error) {
      console.log('failed', error.code, error.message)
    }`
  const { output } = await run(
    process.execPath,
    ['--import', 'tsx', '--input-type=module', '--eval', program],
    env,
  )
  return output
}
