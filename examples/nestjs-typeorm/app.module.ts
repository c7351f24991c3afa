import { Controller, Get, Inject, Module, RequestMethod } from '@nestjs/common'
import type {
  MiddlewareConsumer,
  NestModule,
  OnApplicationBootstrap,
  OnApplicationShutdown,
} from '@nestjs/common'
import { createInbox } from 'hookonce'
import { nestHandler } from 'hookonce/nestjs'
import { postgresStore } from 'hookonce/postgres'
import { stripe } from 'hookonce/providers'
import { typeormTx } from 'hookonce/typeorm'
import pg from 'pg'
import { DataSource } from 'typeorm'
import { addHandlers } from './handlers.ts'
import type { AppInbox } from './handlers.ts'
import { Payment } from './payment.ts'

const INBOX = Symbol('inbox')
const url = process.env['DATABASE_URL'] ?? ''

/** The transactions of handlers come from this pool; the data source has connections of its own for everything else. */
const pool = new pg.Pool({ connectionString: url, max: 10 })

/** `synchronize` is for examples: a service has migrations. */
const openDataSource = () =>
  new DataSource({ type: 'postgres', url, entities: [Payment], synchronize: true }).initialize()

function makeInbox(dataSource: DataSource): AppInbox {
  const inbox = createInbox({
    store: postgresStore({ pool, tx: typeormTx(dataSource) }),
    sources: { stripe: stripe({ secrets: [process.env['STRIPE_WEBHOOK_SECRET'] ?? ''] }) },
    worker: { concurrency: 4 },
  })
  addHandlers(inbox)
  return inbox
}

@Controller('payments')
class PaymentsController {
  readonly #dataSource: DataSource

  constructor(@Inject(DataSource) dataSource: DataSource) {
    this.#dataSource = dataSource
  }

  @Get()
  list(): Promise<Payment[]> {
    return this.#dataSource.manager.find(Payment, { select: { invoice: true, cents: true } })
  }
}

@Module({
  controllers: [PaymentsController],
  providers: [
    { provide: DataSource, useFactory: openDataSource },
    { provide: INBOX, useFactory: makeInbox, inject: [DataSource] },
  ],
})
export class AppModule implements NestModule, OnApplicationBootstrap, OnApplicationShutdown {
  readonly #inbox: AppInbox
  readonly #dataSource: DataSource

  constructor(@Inject(INBOX) inbox: AppInbox, @Inject(DataSource) dataSource: DataSource) {
    this.#inbox = inbox
    this.#dataSource = dataSource
  }

  configure(consumer: MiddlewareConsumer): void {
    consumer
      .apply(nestHandler(this.#inbox, 'stripe'))
      .forRoutes({ path: 'webhooks/stripe', method: RequestMethod.POST })
  }

  async onApplicationBootstrap(): Promise<void> {
    await this.#inbox.start()
  }

  /** What runs is finished; what is stored and waits is there after the next start. */
  async onApplicationShutdown(): Promise<void> {
    await this.#inbox.stop()
    await pool.end()
    await this.#dataSource.destroy()
  }
}
