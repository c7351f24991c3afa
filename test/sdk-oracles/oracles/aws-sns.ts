import { createSign } from 'node:crypto'
import { EventEmitter } from 'node:events'
import https from 'node:https'
import { load } from '../oracle.ts'
import type { OracleKeys, SdkOracle } from '../oracle.ts'

type Message = Readonly<Record<string, string>>

interface Sdk {
  readonly default: new () => {
    validate(message: string, done: (error: Error | null) => void): void
  }
}

/** In the order of the documents; those that a message has are signed, name and value. */
const SIGNED = [
  'Message',
  'MessageId',
  'Subject',
  'SubscribeURL',
  'Timestamp',
  'Token',
  'TopicArn',
  'Type',
]

export const ORACLE: SdkOracle = {
  slug: 'aws_sns',
  packages: ['sns-validator'],
  keys: 'rsa',
  fixtureOnly: 'the signature is a member of the body, over some others',
  sign: ({ body }, { privateKey }) => {
    const message = JSON.parse(body) as Message
    const text = SIGNED.filter((name) => name in message)
      .map((name) => `${name}\n${message[name] ?? ''}\n`)
      .join('')
    const signature = createSign('RSA-SHA256').update(text).sign(privateKey, 'base64')
    return { body: JSON.stringify({ ...message, Signature: signature }) }
  },
  verify: async ({ body }, keys) => {
    const { default: MessageValidator } = await load<Sdk>('sns-validator')
    const restore = serveCertificate(keys)
    try {
      return await new Promise<boolean>((resolve) => {
        new MessageValidator().validate(body, (error) => resolve(error === null))
      })
    } finally {
      restore()
    }
  },
}

/** The library fetches the certificate from Amazon. It gets ours, without a network. */
function serveCertificate({ publicKey }: OracleKeys): () => void {
  const { get } = https
  https.get = ((_url: string, respond: (response: EventEmitter) => void) => {
    const response = Object.assign(new EventEmitter(), { statusCode: 200 })
    respond(response)
    response.emit('data', publicKey.export({ format: 'pem', type: 'spki' }))
    response.emit('end')
    return new EventEmitter()
  }) as typeof https.get
  return () => void (https.get = get)
}
