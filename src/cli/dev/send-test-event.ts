import type { ResolvedConfig } from '../../gateway/config/schema.ts'
import type { Operator } from '../../index.ts'
import { draftTrigger } from '../draft-trigger.ts'
import { urlOf } from '../receive-url.ts'
import { countAnswers, eventsOf, isTaken, sendDelivery } from '../send-delivery.ts'
import { untilRan } from '../until-ran.ts'
import { DEMO_TYPE } from './banner.ts'
import { DEMO } from './dev-config.ts'

/**
 * Sends one event several times at once, to our own listener as a sender would, and says what came of it:
 * `2 deliveries, 1 event, handler ran 1 time`. To the demo source, or to the first that there is.
 *
 * @throws HookonceError CONFIG_INVALID where its provider cannot be signed for; STORE_UNAVAILABLE
 */
export async function sendTestEvent(
  config: ResolvedConfig,
  operator: Pick<Operator, 'findEvent'>,
  times: number,
): Promise<string> {
  const [first = DEMO] = Object.keys(config.sources)
  const source = DEMO in config.sources ? DEMO : first
  const url = urlOf(config.receive, source)
  const type = source === DEMO ? DEMO_TYPE : undefined
  const delivery = draftTrigger(config, { source, type, url }, AS_IT_IS)
  const answers = await sendDelivery(url, delivery, { times, atOnce: true })
  // The tail has why.
  if (!answers.some(isTaken)) return `${countAnswers(answers, undefined)}, none was taken`
  const ran = await untilRan(operator, eventsOf(answers))
  return countAnswers(answers, ran?.runs)
}

const AS_IT_IS = {
  set: [],
  id: undefined,
  secret: undefined,
  privateKey: undefined,
  isForged: false,
  isOld: false,
  body: undefined,
}
