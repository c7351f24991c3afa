import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, onTestFinished, test } from 'vitest'
import { sign } from '../../src/testing/index.ts'
import { startCli } from '../support/run-cli.ts'

const PACKAGES = fileURLToPath(new URL('../../node_modules/@opentelemetry/', import.meta.url))
const SECRET = 'whsec_test_secret_of_some_length'

/** Prints each span that ends. */
const SETUP = `
import * as api from '@opentelemetry/api'
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks'
import { W3CTraceContextPropagator } from '@opentelemetry/core'
import { BasicTracerProvider } from '@opentelemetry/sdk-trace-base'

const print = { onStart() {}, onEnd: (span) => console.log(JSON.stringify({ msg: 'span', name: span.name, links: span.links.length })), forceFlush: async () => {}, shutdown: async () => {} }
api.trace.setGlobalTracerProvider(new BasicTracerProvider({ spanProcessors: [print] }))
api.context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable())
api.propagation.setGlobalPropagator(new W3CTraceContextPropagator())
`

function aFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'hookonce-tracing-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const config = {
    store: 'sqlite:events.db',
    tracing: true,
    sources: { stripe: { provider: 'stripe', secrets: [SECRET], forward: ['app'] } },
    destinations: { app: { url: 'http://127.0.0.1:9/', allowPrivate: true, unsigned: true } },
  }
  writeFileSync(join(folder, 'hookonce.config.json'), JSON.stringify(config))
  return folder
}

describe('a gateway that is traced', () => {
  test('makes spans with the OpenTelemetry beside its config', async () => {
    const folder = aFolder()
    mkdirSync(join(folder, 'node_modules'))
    symlinkSync(PACKAGES, join(folder, 'node_modules/@opentelemetry'))
    writeFileSync(join(folder, 'tracing.mjs'), SETUP)
    const cli = startCli(['start', '--port', '0'], {
      folder,
      env: { NODE_OPTIONS: `--import ${join(folder, 'tracing.mjs')}` },
    })
    const { receive } = await cli.untilLine('gateway.listening')
    await cli.untilLine('gateway.started')
    const { method, headers, body } = sign(
      'stripe',
      { key: 'evt_1', type: 'invoice.paid' },
      { secret: SECRET },
    )

    await fetch(`http://127.0.0.1:${(receive as { port: number }).port}/in/stripe`, {
      method,
      headers: headers as Record<string, string>,
      body: Buffer.from(body),
    })

    await cli.untilText('{"msg":"span","name":"receive stripe","links":0}')
    await cli.untilText('{"msg":"span","name":"process stripe","links":1}')
    await cli.untilText('{"msg":"span","name":"send app","links":1}')
  })

  test('does not start where it is not installed, and says what to do', async () => {
    const cli = startCli(['start', '--port', '0'], { folder: aFolder() })

    expect(await cli.gone).toMatchObject({ code: 2 })
    expect(cli.errors()).toContain('@opentelemetry/api cannot be loaded')
  })
})
