import type { FetchedBy, HandlerFunction, StepHandlerFunction, TxFor } from './handler-types.ts'
import type {
  EventsOf,
  PatternsOf,
  PayloadFor,
  PayloadWith,
  SourceMap,
  TypePattern,
} from '../model/event-types.ts'
import type { AnySends, SendMap } from '../model/sends.ts'
import type { HandlerOptions, StepHandlerOptions } from '../work/handler-options.ts'
import type { HandlerRegistry } from '../work/handler-registry.ts'
import type { AnyHandler } from '../work/handler-unit.ts'

/** The part of an inbox that handlers are registered with. */
export abstract class InboxHandlers<
  Sources extends SourceMap,
  Tx,
  Sql = Tx,
  Sends extends SendMap = AnySends,
> {
  readonly #registry: HandlerRegistry

  constructor(registry: HandlerRegistry) {
    this.#registry = registry
  }

  /** There may be events that waited for the handler that was just registered. */
  protected abstract handlersChanged(): void

  /**
   * Registers a handler for a type, a pattern such as `invoice.*`, or a list of them.
   *
   * The handler runs once for each event, in a transaction that commits together with the fact that the
   * event is done. See `HandlerFunction` for what it can return and throw.
   *
   * @throws HookonceError with the code SOURCE_UNKNOWN when the inbox has no such source
   * @throws OptionInvalidError for an option that cannot be used, and a name that another handler of the source has
   */
  on<Name extends keyof Sources & string, const Types extends Patterns<Sources, Name>>(
    source: Name,
    types: Types,
    handler: HandlerFunction<
      PayloadFor<EventsOf<Sources[Name]>, PatternsOf<Types>>,
      Tx,
      undefined,
      Sql,
      Sends
    >,
  ): this
  on<
    Name extends keyof Sources & string,
    const Types extends Patterns<Sources, Name>,
    const Options extends HandlerOptions<
      unknown,
      PayloadFor<EventsOf<Sources[Name]>, PatternsOf<Types>>
    >,
  >(
    source: Name,
    types: Types,
    options: Options,
    handler: HandlerFunction<
      PayloadWith<PayloadFor<EventsOf<Sources[Name]>, PatternsOf<Types>>, Options>,
      TxFor<Tx, Options>,
      FetchedBy<Options>,
      TxFor<Sql, Options>,
      Sends
    >,
  ): this
  on(source: string, types: string | readonly string[], ...rest: Rest<HandlerOptions>): this {
    const { options, handler } = separate(rest)
    this.#registry.add(source, types, options, handler)
    this.handlersChanged()
    return this
  }

  /**
   * Registers a step handler, for work that leaves the database: between its steps it holds no transaction,
   * and each step's result is kept. See `StepContext` for what a step can be.
   *
   * @throws HookonceError with the code SOURCE_UNKNOWN when the inbox has no such source
   * @throws OptionInvalidError for an option that cannot be used, and a name that another handler of the source has
   */
  steps<Name extends keyof Sources & string, const Types extends Patterns<Sources, Name>>(
    source: Name,
    types: Types,
    handler: StepHandlerFunction<
      PayloadFor<EventsOf<Sources[Name]>, PatternsOf<Types>>,
      Tx,
      undefined,
      Sql,
      Sends
    >,
  ): this
  steps<
    Name extends keyof Sources & string,
    const Types extends Patterns<Sources, Name>,
    const Options extends StepHandlerOptions<
      unknown,
      PayloadFor<EventsOf<Sources[Name]>, PatternsOf<Types>>
    >,
  >(
    source: Name,
    types: Types,
    options: Options,
    handler: StepHandlerFunction<
      PayloadWith<PayloadFor<EventsOf<Sources[Name]>, PatternsOf<Types>>, Options>,
      Tx,
      FetchedBy<Options>,
      Sql,
      Sends
    >,
  ): this
  steps(
    source: string,
    types: string | readonly string[],
    ...rest: Rest<StepHandlerOptions>
  ): this {
    const { options, handler } = separate(rest)
    this.#registry.addSteps(source, types, options, handler)
    this.handlersChanged()
    return this
  }
}

type Patterns<Sources extends SourceMap, Name extends keyof Sources> =
  TypePattern<EventsOf<Sources[Name]>> | readonly TypePattern<EventsOf<Sources[Name]>>[]

/** What comes after source and types: options are left out by most, and the handler is the last. */
type Rest<Options> = [handler: AnyHandler] | [options: Options, handler: AnyHandler]

function separate<Options extends object>(
  rest: Rest<Options>,
): { readonly options: Options | Record<string, never>; readonly handler: AnyHandler } {
  return rest.length === 2
    ? { options: rest[0], handler: rest[1] }
    : { options: {}, handler: rest[0] }
}
