import { generateKeyPairSync } from 'node:crypto'
import { chownSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { makeCertificate } from '../support/make-certificate.ts'
import { findServerUser, makeServerDir, startPostgres } from '../support/postgres/start-postgres.ts'
import { findBinaries } from '../support/postgres/find-binaries.ts'
import { startCli } from '../support/run-cli.ts'

const DAY_MS = 86_400_000
const hasNoBinaries = findBinaries('embedded') === undefined

describe.skipIf(hasNoBinaries)('a PostgreSQL that is reached over TLS', () => {
  test('S06: is not believed with a certificate of another authority, and is with one of its own', async () => {
    const [ours, another] = [makeAuthority('Ours'), makeAuthority('Another')]
    const folder = aFolder()
    writeFileSync(join(folder, 'ours.pem'), ours.certificate)
    writeFileSync(join(folder, 'another.pem'), another.certificate)
    const { tcpConfig } = await startOverTls(ours)
    const urlWith = (file: string) =>
      `postgres://postgres@localhost:${tcpConfig?.port}/postgres?sslmode=verify-full&sslrootcert=${join(folder, file)}`

    const wary = startCli(['start', '--port', '0', '--store', urlWith('another.pem')], { folder })
    const { error } = await wary.untilLine(
      'the store cannot be opened: deliveries are answered 503 until it can',
    )
    const right = startCli(['start', '--port', '0', '--store', urlWith('ours.pem')], { folder })

    expect(error).toMatch(/certificate/)
    await right.untilLine('gateway.started')
    expect(wary.lines().map(({ msg }) => msg)).not.toContain('gateway.started')
  })
})

type Authority = ReturnType<typeof makeAuthority>

function makeAuthority(name: string) {
  const { publicKey, privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
  const terms = { issuer: name, issuerKey: privateKey, from: ago(DAY_MS), until: ago(-DAY_MS) }
  const certificate = makeCertificate({ subject: name, publicKey, isAuthority: true, ...terms })
  return { certificate, terms }
}

async function startOverTls({ terms }: Authority) {
  const { publicKey, privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
  const dir = makeServerDir()
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }))
  const [certificateFile, keyFile] = [join(dir, 'server.pem'), join(dir, 'server.key')]
  writeFileSync(
    certificateFile,
    makeCertificate({ subject: 'localhost', publicKey, names: ['localhost'], ...terms }),
  )
  writeFileSync(keyFile, privateKey.export({ type: 'pkcs8', format: 'pem' }), { mode: 0o600 })
  const user = findServerUser()
  if (user !== undefined) chownSync(keyFile, user.uid, user.gid)
  const server = await startPostgres({
    tcp: true,
    settings: { ssl: 'on', ssl_cert_file: certificateFile, ssl_key_file: keyFile },
  })
  onTestFinished(() => server.dispose())
  return server
}

function aFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'hookonce-tls-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const sources = { stripe: { provider: 'stripe', secrets: ['whsec_0123456789abcdef'] } }
  writeFileSync(join(folder, 'hookonce.config.json'), JSON.stringify({ sources }))
  return folder
}

function ago(ms: number): Date {
  return new Date(Date.now() - ms)
}
