import { serveBare } from './bare-server.ts'
import { runSubject } from './subject.ts'

/** W1 a: HTTP, signature, parse, and no store. */
runSubject(() => serveBare(() => undefined))
