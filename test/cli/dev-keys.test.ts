import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { startSink } from '../support/sink.ts'
import { hasNoTerminal, startInTerminal } from '../support/terminal.ts'

describe.skipIf(hasNoTerminal)('in a terminal, hookonce dev', () => {
  test('does what its keys say, and leaves the terminal as it was', async () => {
    const folder = aFolder()
    const terminal = startInTerminal(['dev', '--port', '0'], { folder })
    await terminal.untilShown('Press h for the keys')

    terminal.press('h')
    await terminal.untilShown('c  copy the last body')
    terminal.press('c')
    await terminal.untilShown('No delivery has come yet.')
    terminal.press('r')
    await terminal.untilShown('Nothing is dead.')
    terminal.press('t')
    await terminal.untilShown('200 accepted')
    await terminal.untilShown('2 deliveries, 1 event, handler ran 1 time')
    terminal.press('c')
    await terminal.untilShown('and .hookonce/last-body.')
    const body = readFileSync(join(folder, '.hookonce/last-body'))
    expect(JSON.parse(body.toString())).toMatchObject({ type: 'order.paid' })
    expect(terminal.raw()).toContain(`\x1b]52;c;${body.toString('base64')}\x07`)
    terminal.press('q')

    await terminal.untilShown('ended with 0')
    await terminal.gone
    expect(terminal.screen()).toMatch(/[^-]icanon/)
  })

  test('adds a source while it runs, and shows no secret', async () => {
    const folder = aFolder()
    const terminal = startInTerminal(['dev', '--port', '0'], { folder })
    await terminal.untilShown('Press h for the keys')

    terminal.press('a')
    await terminal.untilShown('provider, such as')
    terminal.press('stirpe\r')
    await terminal.untilShown('There is no provider "stirpe", did you mean "stripe"?')
    // As a person pastes: the keys are there before the questions are.
    terminal.press('astripe\rshop\rwhsec_0123456789abcdef\r')
    await terminal.untilShown('Added: ')
    await terminal.untilShown('"env:SHOP_SECRET"')
    const url = /Added: (\S+)/.exec(terminal.screen())?.[1] as string
    const { status } = await fetch(url, { method: 'POST', body: '{}' })

    expect(url).toMatch(/\/in\/shop$/)
    expect(status).toBe(401)
    await terminal.untilShown('401 refused: ')
    expect(terminal.raw()).not.toContain('0123456789abcdef')
    const kept = JSON.parse(readFileSync(join(folder, '.hookonce/dev.json'), 'utf8')) as object
    expect(kept).toMatchObject({
      sources: { demo: {}, shop: { provider: 'stripe', secrets: ['whsec_0123456789abcdef'] } },
    })
  })

  test('keeps nothing of a source that cannot be used', async () => {
    const folder = aFolder()
    const terminal = startInTerminal(['dev', '--port', '0'], { folder })
    await terminal.untilShown('Press h for the keys')

    terminal.press('astripe\rshop\rshort\r')

    await terminal.untilShown('shorter than 16 bytes')
    expect(readFileSync(join(folder, '.hookonce/dev.json'), 'utf8')).not.toContain('shop')
  })

  test('tries the last dead one again', async () => {
    const sink = await startSink({ answer: () => ({ status: 400 }) })
    const args = ['dev', '--port', '0', '--forward', sink.url]
    const terminal = startInTerminal(args, { folder: aFolder() })
    await terminal.untilShown('Press h for the keys')
    terminal.press('t')
    await terminal.untilShown('dead on its way to dev-forward')
    sink.answerWith(() => ({ status: 200 }))

    terminal.press('r')

    await terminal.untilShown('is tried again.')
    await terminal.untilShown('delivered to dev-forward')
  })

  test('leaves the terminal as it was when it crashes', async () => {
    const crash = `process.once('SIGUSR2', () => { throw new Error('a crash') }); console.log('pid ' + process.pid + '.')`
    const preload = `data:text/javascript,${encodeURIComponent(crash)}`
    const terminal = startInTerminal(['dev', '--port', '0'], { folder: aFolder(), preload })
    await terminal.untilShown('Press h for the keys')
    // It reads keys by now, so that the terminal is in raw mode.
    terminal.press('h')
    await terminal.untilShown('copy the last body')

    process.kill(Number(/pid (\d+)\./.exec(terminal.screen())?.[1]), 'SIGUSR2')

    await terminal.untilShown('a crash')
    await terminal.untilShown('ended with 1')
    await terminal.gone
    expect(terminal.screen()).toMatch(/[^-]icanon/)
  })
})

function aFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'hookonce-keys-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}
