import { destination } from 'hookonce'

/** Hands a mail to the mail service, which knows it again by its key. */
export const mail = destination('mail', async ({ body }, { idempotencyKey, signal }) => {
  const response = await fetch(process.env['MAIL_URL'] ?? 'https://mail.example.com/send', {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'idempotency-key': idempotencyKey },
    body: Buffer.from(body),
    signal,
  })
  if (!response.ok) throw new Error(`The mail service answered ${response.status}`)
})
