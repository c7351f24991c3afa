/** A service with NestJS and TypeORM, which books the invoices that Stripe says are paid. */

import 'reflect-metadata'
import { NestFactory } from '@nestjs/core'
import { AppModule } from './app.module.ts'

// `rawBody`: a signature is over the bytes that came, and Nest's parsers run first.
const app = await NestFactory.create(AppModule, { rawBody: true, logger: ['warn', 'error'] })
app.enableShutdownHooks(['SIGINT', 'SIGTERM'], { useProcessExit: true })
await app.listen(Number(process.env['PORT'] ?? 3000), '127.0.0.1')
console.log(`Listening on ${await app.getUrl()}`)
