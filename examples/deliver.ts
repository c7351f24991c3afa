import { sign } from 'hookonce/testing'

/** Signs the example's deliveries. A real one comes from the provider and lives in the environment. */
export const EXAMPLE_SECRET = 'whsec_example_secret_for_the_quick_start'

export interface DeliverOptions {
  readonly port: number
  readonly key: string
  readonly type: string
  readonly times: number
}

export interface Answer {
  readonly status: 'accepted' | 'duplicate'
  readonly event: string
}

/** Delivers one signed event several times at once, as Stripe would. */
export async function deliver({
  port,
  key,
  type,
  times,
}: DeliverOptions): Promise<readonly Answer[]> {
  const secret = process.env['STRIPE_WEBHOOK_SECRET'] ?? EXAMPLE_SECRET
  const { headers, body } = sign('stripe', { key, type }, { secret })
  const send = async (): Promise<Answer> => {
    const response = await fetch(`http://127.0.0.1:${port}/in/stripe`, {
      method: 'POST',
      headers: headers as Record<string, string>,
      body: Buffer.from(body),
    })
    if (!response.ok)
      throw new Error(`The delivery was answered ${response.status}: ${await response.text()}`)
    return (await response.json()) as Answer
  }
  return Promise.all(Array.from({ length: times }, send))
}

/** `10 deliveries, 1 event` */
export function counted(answers: readonly Answer[]): string {
  const events = new Set(answers.map(({ event }) => event)).size
  return [
    `${answers.length} ${answers.length === 1 ? 'delivery' : 'deliveries'}`,
    `${events} ${events === 1 ? 'event' : 'events'}`,
  ].join(', ')
}
