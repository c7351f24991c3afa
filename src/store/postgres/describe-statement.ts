/**
 * Asks PostgreSQL what a statement takes and gives, without running it, among the handler's statements and with their
 * guards.
 *
 * Only PostgreSQL: on SQLite a parameter has no type.
 *
 * @module
 */

import { OptionInvalidError } from '../../errors.ts'
import type { PgPoolClient, PgResult } from './driver.ts'
import { findLentTx } from './lent-tx.ts'
import { takesBatches } from './statement-batch.ts'
import type { PostgresTx } from './tx.ts'

export interface StatementDescription {
  /** The types of its parameters. */
  readonly parameters: readonly number[]
  readonly fields: PgResult['fields']
}

/** `types` are those of the first parameters as far as they are known, 0 for one that is not. */
export function describeStatement(
  tx: PostgresTx,
  text: string,
  types: readonly number[],
): Promise<StatementDescription> {
  const lent = findLentTx(tx)
  if (lent === undefined)
    throw new OptionInvalidError('describeStatement', 'given the transaction of a handler', tx)
  return lent.submit(text, async (client) => sendDescribe(client, text, types))
}

function sendDescribe(
  client: PgPoolClient,
  text: string,
  types: readonly number[],
): Promise<StatementDescription> {
  if (!takesBatches(client)) {
    throw new OptionInvalidError('postgresStore.pool', {
      message:
        'postgresStore.pool must be a Pool of pg that speaks the protocol itself: a native or pipelining client cannot be asked for the types of parameters',
    })
  }
  const { connection } = client as unknown as { connection: Protocol }
  return new Promise((resolve, reject) => {
    // The driver asks for this itself nowhere, and has no member of a query that is called for it.
    const onParameters = ({ dataTypeIDs }: Described): void => {
      question.parameters = dataTypeIDs
    }
    const question = new Question(text, types, (error) => {
      connection.removeListener('parameterDescription', onParameters)
      if (error == null) resolve(question)
      else reject(error)
    })
    connection.on('parameterDescription', onParameters)
    const driver = client as unknown as { query(submittable: Question): unknown }
    Promise.resolve(driver.query(question)).catch(reject)
  })
}

interface Protocol {
  on(event: 'parameterDescription', listener: (message: Described) => void): unknown
  removeListener(event: 'parameterDescription', listener: (message: Described) => void): unknown
}

interface Submitted {
  parse(message: { text: string; name: string; types: readonly number[] }): void
  describe(message: { type: 'S'; name: string }): void
  sync(): void
}

interface Described {
  readonly dataTypeIDs: readonly number[]
}

/** What the driver calls while this is what it is waiting for. */
class Question implements StatementDescription {
  parameters: readonly number[] = []
  fields: PgResult['fields'] = []
  readonly #text: string
  readonly #types: readonly number[]
  /** Public, since a driver with a time limit for statements puts its own around it. */
  callback: (error: Error | null | undefined) => void

  constructor(
    text: string,
    types: readonly number[],
    callback: (error: Error | null | undefined) => void,
  ) {
    this.#text = text
    this.#types = types
    this.callback = callback
  }

  submit(protocol: Submitted): null {
    protocol.parse({ text: this.#text, name: '', types: this.#types })
    protocol.describe({ type: 'S', name: '' })
    protocol.sync()
    return null
  }

  handleError(error: Error): void {
    this.callback(error)
  }

  handleReadyForQuery(): void {
    this.callback(null)
  }

  handleRowDescription({ fields }: { fields: PgResult['fields'] }): void {
    this.fields = fields
  }

  // Of no interest, and called all the same.
  handleDataRow(): void {}
  handleCommandComplete(): void {}
  handlePortalSuspended(): void {}
  handleEmptyQuery(): void {}
}
