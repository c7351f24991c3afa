import { dropboxFixture } from '../../../src/testing/fixtures/dropbox.ts'
import type { ProviderCase } from '../every-provider.ts'

export const CASE: ProviderCase = {
  fixture: dropboxFixture,
  // Equal bodies are different signals. A signal only says that there is something to read.
  retryIsSameEvent: false,
  batch: (accounts) => ({ list_folder: { accounts }, delta: { users: accounts.map((_, n) => n) } }),
  handshakes: [
    {
      name: 'the challenge is given back, as text that no browser reads as HTML',
      deliver: () => ({ method: 'GET', url: '/?challenge=%3Cb%3E4Ga7%26Kx%2B%3C%2Fb%3E' }),
      answer: {
        status: 200,
        body: '<b>4Ga7&Kx+</b>',
        headers: {
          'content-type': 'text/plain; charset=utf-8',
          'x-content-type-options': 'nosniff',
        },
      },
    },
    {
      name: 'a GET that asks nothing is refused',
      deliver: () => ({ method: 'GET' }),
      answer: 'refuse',
    },
    {
      name: 'a challenge that is not a GET is no handshake',
      deliver: () => ({ method: 'POST', url: '/?challenge=4Ga7KxFbm2Yzv7gS' }),
      answer: 'refuse',
    },
  ],
}
