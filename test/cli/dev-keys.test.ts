import { existsSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, onTestFinished, test } from 'vitest'
import { bundleCommand } from '../support/faults/bundle-program.ts'
import { startSink } from '../support/sink.ts'
import { hasNoTerminal, startInTerminal } from '../support/terminal.ts'

const ROOT = fileURLToPath(new URL('../../', import.meta.url))

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

  const NPM_START = { timeout: 300_000 }
  test(
    'is what npm start runs in a clone, after it has shown that ten deliveries are one event',
    NPM_START,
    async () => {
      // npm runs it in the folder of package.json: a folder of the test's own, with what is in the clone.
      const folder = aFolder()
      for (const name of ['package.json', 'tsconfig.json', 'node_modules', 'src'])
        symlinkSync(join(ROOT, name), join(folder, name))
      const program = ['npm', 'start', '--']
      const terminal = startInTerminal(['--port', '0'], { folder, program })

      // npm, and all of the source, which is read as it is.
      const limits = { limitMs: 200_000 }
      await terminal.untilShown('\n10 deliveries, 1 event, handler ran 1 time\n', limits)
      await terminal.untilShown('/in/demo')
      await terminal.untilShown('Press h for the keys')
      expect(terminal.screen().split('10 deliveries, 1 event')).toHaveLength(2)
      expect(existsSync(join(folder, '.hookonce/dev.json'))).toBe(true)
      terminal.press('q')

      await terminal.untilShown('ended with 0')
    },
  )

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

  test('shows the secret of a source that it has made itself, for its sender', async () => {
    const folder = aFolder()
    const terminal = startInTerminal(['dev', '--port', '0'], { folder })
    await terminal.untilShown('Press h for the keys')

    terminal.press('agithub\r\r\r')

    await terminal.untilShown('Its secret was made here. Give it to the sender:')
    await terminal.untilShown('"env:GITHUB_SECRET"')
    const kept = JSON.parse(readFileSync(join(folder, '.hookonce/dev.json'), 'utf8')) as {
      sources: { github: { secrets: [string] } }
    }
    expect(terminal.screen()).toContain(`\n    ${kept.sources.github.secrets[0]}\n`)
  })

  test('keeps nothing of a source that cannot be used', async () => {
    const folder = aFolder()
    const terminal = startInTerminal(['dev', '--port', '0'], { folder })
    await terminal.untilShown('Press h for the keys')

    terminal.press('astripe\rshop\rshort\r')

    await terminal.untilShown('It was not added: sources.shop: secrets[0] is shorter than 16 bytes')
    terminal.press('astripe\rMy Shop\rwhsec_0123456789abcdef\r')
    await terminal.untilShown('It was not added: sources.My Shop: must be written with a-z')
    expect(terminal.screen()).not.toContain('Write this source into')
    terminal.press('atwilio\rshop\r0123456789abcdef\r')
    await terminal.untilShown('It was not added: sources.shop: twilio.publicUrl must be the URL')
    await terminal.untilShown('Write this source into')
    expect(readFileSync(join(folder, '.hookonce/dev.json'), 'utf8')).not.toContain('shop')
  })

  test('asks in one row, however narrow the terminal and however long the answer', async () => {
    const columns = 60
    const terminal = startInTerminal(['dev', '--port', '0'], { folder: aFolder(), columns })
    await terminal.untilShown('Press h for the keys')

    terminal.press(`astripe\rshop\rwhsec_${'0123456789abcdef'.repeat(4)}`)
    await terminal.untilShown(`…${'*'.repeat(columns - 2)}`)
    terminal.press('\r')
    await terminal.untilShown('Added: ')

    const rows = terminal.raw().split('\r\x1b[K').slice(1, -1)
    const asked = rows.filter((row) => !row.includes('\n'))
    expect(asked.length).toBeGreaterThan(70)
    expect(asked.filter((row) => row.length >= columns)).toEqual([])
  })

  test('tries the last dead one again, and then the one before it', async () => {
    const sink = await startSink({ answer: () => ({ status: 400 }) })
    const args = ['dev', '--port', '0', '--forward', sink.url]
    const terminal = startInTerminal(args, { folder: aFolder() })
    await terminal.untilShown('Press h for the keys')
    for (const _event of ['first', 'second']) {
      terminal.press('t')
      await terminal.untilShown('dead on its way to dev-forward')
    }
    sink.answerWith(() => ({ status: 200 }))

    for (const _event of ['second', 'first']) {
      terminal.press('r')
      await terminal.untilShown('is tried again.')
      await terminal.untilShown('delivered to dev-forward')
    }

    terminal.press('r')
    await terminal.untilShown('Nothing is dead.')
    expect([...sink.countEffects().values()]).toEqual([1, 1])
  })

  test('gives the terminal back to a shell at Ctrl-Z, also below another process as npx, and goes on when it is asked to', async () => {
    const below = `sh -c '"$@"; true' sh "$@"`
    const program = ['bash', '-mc', `${below}; echo in the shell; fg`, 'bash']
    const terminal = startInTerminal([process.execPath, bundleCommand(), 'dev', '--port', '0'], {
      folder: aFolder(),
      program,
    })
    await terminal.untilShown('Press h for the keys')

    terminal.press('\x1a')
    await terminal.untilShown('in the shell')
    terminal.press('h')
    await terminal.untilShown('c  copy the last body')
    terminal.press('q')

    await terminal.untilShown('ended with 0')
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
