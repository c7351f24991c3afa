import { mailgunFixture } from '../../../src/testing/fixtures/mailgun.ts'
import type { ProviderCase } from '../every-provider.ts'

export const CASE: ProviderCase = {
  fixture: mailgunFixture,
  uncovered: {
    bodyBytes: {
      why: 'only the time and the token are signed; a token counts for one event, a signature for nine hours, and TLS keeps the rest',
      covers: isUnsigned,
      identifies: true,
    },
  },
  // Signed anew, with a token of its own.
  retryOf: ({ body }, resign) =>
    resign({
      body: Buffer.from(body)
        .toString()
        .replace(
          /(?<=token(?:":"|=))[0-9a-f]{50}/,
          (token) => token.slice(25) + token.slice(0, 25),
        ),
    }),
}

/** The three values stand at the front of JSON and at the end of a form. */
function isUnsigned(body: string, at: number): boolean {
  return body.startsWith('{') ? at > body.indexOf('}') : at < body.indexOf('&token=')
}
