import type { Delivery } from '../model/delivery.ts'
import { PROBE_HEADER } from '../model/probe.ts'
import type { HandshakeResult, Source } from '../model/source.ts'

/** Past this a body is not shown again; probes are far smaller. */
const SHOWN_BYTES_MAX = 16_384

/**
 * What `hookonce doctor` is told: whether the bytes of its body are those that it sent, what they are where they are
 * not, and which headers of the signature did not arrive. `undefined` for a request that is no probe.
 *
 * A request that says that it is a probe is never an event. One that cannot be believed is refused, also by a source
 * that believes everything: a person who checks an endpoint must not make its handlers run.
 */
export function answerProbe(source: Source, delivery: Delivery): HandshakeResult {
  if (!Object.hasOwn(delivery.headers, PROBE_HEADER)) return undefined
  const reading = source.prober?.read(delivery)
  if (reading === undefined) return 'refuse'
  const { body } = delivery
  const answer = {
    probe: reading.isSame ? 'same' : 'changed',
    bytes: body.byteLength,
    missing: source.securityHeaders.filter((name) => !Object.hasOwn(delivery.headers, name)),
    ...(!reading.isSame &&
      body.byteLength <= SHOWN_BYTES_MAX && { body: Buffer.from(body).toString('base64') }),
  }
  return {
    status: 200,
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(answer),
  }
}
