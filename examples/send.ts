/** Sends a signed event to a running quick start: `npm run send -- --port 4400 --times 3`. */

import { randomUUID } from 'node:crypto'
import { parseArgs } from 'node:util'
import { counted, deliver } from './deliver.ts'

const { values } = parseArgs({
  options: {
    port: { type: 'string', default: '4400' },
    type: { type: 'string', default: 'invoice.paid' },
    key: { type: 'string', default: `evt_${randomUUID()}` },
    times: { type: 'string', default: '1' },
  },
})

try {
  const answers = await deliver({
    port: Number(values.port),
    key: values.key,
    type: values.type,
    times: Number(values.times),
  })
  for (const { status, event } of answers) console.log(`${status.padEnd(9)}  ${event}`)
  console.log(`\n${counted(answers)}`)
} catch (error) {
  const { message, cause } = error as Error
  const isNobodyThere = (cause as { code?: string } | undefined)?.code === 'ECONNREFUSED'
  console.error(
    isNobodyThere
      ? `Nothing listens on port ${values.port}. Start the service first: npm start`
      : message,
  )
  process.exitCode = 1
}
