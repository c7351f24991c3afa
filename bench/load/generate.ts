import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { BENCH_DIR, COMPILED_DIR } from '../harness/folders.ts'
import { findWrkVersion } from '../harness/machine.ts'
import type { SignedRequests } from './signed-requests.ts'

export interface LoadReport {
  readonly requests: number
  readonly durationUs: number
  /** Answers past 399. */
  readonly refused: number
  readonly socketErrors: number
  readonly p50Us: number
  readonly p99Us: number
}

export const CONNECTIONS = 64

export interface Load {
  readonly port: number
  readonly requests: SignedRequests
  /** The index of the first request. */
  readonly from: number
  readonly seconds: number
  /** Of this many requests one is new, the others are duplicates. */
  readonly newEvery: number
}

/** Keeps 64 connections busy for a while: with wrk where there is one, else with Node. */
export async function generateLoad(load: Load): Promise<LoadReport> {
  const { file, requestBytes, count } = load.requests
  const args = [file, requestBytes, count, load.from, load.newEvery].map(String)
  return findWrkVersion() === undefined
    ? run(process.execPath, [
        join(COMPILED_DIR, 'bench', 'load', 'node-load.js'),
        String(load.port),
        String(load.seconds),
        ...args,
      ])
    : run('wrk', [
        ...[
          '--threads',
          '1',
          '--connections',
          String(CONNECTIONS),
          '--duration',
          `${load.seconds}s`,
          '--timeout',
          '10s',
        ],
        ...[
          '--script',
          join(BENCH_DIR, 'load', 'cycle.lua'),
          `http://127.0.0.1:${load.port}/`,
          '--',
          ...args,
        ],
      ])
}

export interface PacedLoad {
  readonly port: number
  readonly from: number
  readonly count: number
  /** Requests a second; `undefined` for as many as the server answers. */
  readonly rate: number | undefined
  /** After which no more are sent. Without it all are. */
  readonly seconds?: number
}

/** Sends so many requests over 64 connections, whatever wrk can do. */
export function generatePacedLoad(load: PacedLoad): Promise<LoadReport> {
  const { port, from, count, rate = 0, seconds = Infinity } = load
  const script = join(COMPILED_DIR, 'bench', 'load', 'paced-load.js')
  return run(process.execPath, [script, ...[port, from, count, rate, seconds].map(String)])
}

async function run(command: string, args: readonly string[]): Promise<LoadReport> {
  const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'inherit'] })
  let output = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => (output += text))
  await once(child, 'close')
  const line = output.split('\n').find((each) => each.startsWith('RESULT '))
  if (line === undefined) throw new Error(`The load generator said nothing:\n${output}`)
  return JSON.parse(line.slice('RESULT '.length)) as LoadReport
}
