import { describe, expect, test } from 'vitest'
import { paypal } from '../../../src/providers/index.ts'
import { AT, deliver } from '../event-keys.ts'
import { keyPair } from '../every-provider.ts'
import { VECTORS } from '../vector.ts'

describe('paypal', () => {
  const vector = VECTORS.find(({ id }) => id === 'paypal-valid-own-cert')
  const webhookId = vector?.secret ?? ''
  // The certificate of the vector begins later than its request.
  const delivery = deliver(vector?.body ?? '', { ...vector?.headers }, new Date('2027-06-01'))
  const serve = (pem: string | undefined) => {
    const asked: string[] = []
    const fetch = (url: string) => {
      asked.push(url)
      return Promise.resolve({ ok: true, text: () => Promise.resolve(pem ?? '') })
    }
    // It is its own root.
    const certificateRoots = [vector?.cert_pem ?? '']
    return { asked, source: paypal({ webhookId, fetch, certificateRoots }) }
  }
  const withHeader = (name: string, value: string) => ({
    ...delivery,
    headers: { ...delivery.headers, [name]: value },
  })

  test('fetches the certificate from PayPal, and believes what it signed', async () => {
    const { source, asked } = serve(vector?.cert_pem)

    expect(await source.verify(delivery)).toMatchObject({ ok: true })
    expect(asked).toEqual([vector?.headers['paypal-cert-url']])
  })

  test.each([
    'https://evil.example/v1/notifications/certs/CERT-1',
    'https://api.paypal.com.evil.example/v1/notifications/certs/CERT-1',
    'https://api.paypal.com@evil.example/v1/notifications/certs/CERT-1',
    'https://evilapi.paypal.com/v1/notifications/certs/CERT-1',
    'http://api.paypal.com/v1/notifications/certs/CERT-1',
    'https://api.paypal.com:8443/v1/notifications/certs/CERT-1',
    'https://api.paypal.com/v1/notifications/certs/../../oauth2/token',
    'https://api.paypal.com/somewhere-else',
  ])('never fetches %s', async (url) => {
    const { source, asked } = serve(vector?.cert_pem)

    expect(await source.verify(withHeader('paypal-cert-url', url))).toMatchObject({ ok: false })
    expect(asked).toEqual([])
  })

  test('refuses a certificate that is not valid yet', async () => {
    const { source } = serve(vector?.cert_pem)

    expect(await source.verify({ ...delivery, receivedAt: AT })).toEqual({
      ok: false,
      reason: 'unknown-key',
    })
  })

  test('refuses what says that it is signed with another algorithm', async () => {
    const { source } = serve(vector?.cert_pem)

    expect(await source.verify(withHeader('paypal-auth-algo', 'SHA1withRSA'))).toMatchObject({
      ok: false,
    })
  })

  test('warns of the simulator’s webhook id', () => {
    const { publicKey } = keyPair('rsa', 0)
    const certificate = publicKey.export({ format: 'pem', type: 'spki' }).toString()

    expect(paypal({ webhookId, certificate }).warnings).toEqual([])
    expect(paypal({ webhookId: 'WEBHOOK_ID', certificate }).warnings).toHaveLength(1)
  })
})
