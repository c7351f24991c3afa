import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { expect, test } from 'vitest'
import { costsPerEvent } from '../../bench/harness/costs-per-event.ts'
import { parseProcessTimes, readFamilyCpuUs } from '../../bench/harness/process-times.ts'
import { parseRedisInfo } from '../../bench/harness/redis-meter.ts'

test('what a run took is divided among its events, and flushes among all that were taken in meanwhile', () => {
  const database = {
    cpuUs: 40_000,
    logBytes: 2_000_000,
    commits: 10,
    flushes: { count: 6, events: 1_500 },
  }
  expect(costsPerEvent({ events: 1_000, ownCpuUs: 90_000, database })).toEqual({
    'own µs/event': 90,
    'database µs/event': 40,
    'log bytes/event': 2_000,
    'commits/event': 0.01,
    'flushes/event': 0.004,
  })
})

test('a cost that could not be read is missing, and not nothing', () => {
  const database = { cpuUs: undefined, logBytes: 500, commits: undefined, flushes: undefined }
  expect(costsPerEvent({ events: 10, ownCpuUs: 70, database })).toEqual({
    'own µs/event': 7,
    'log bytes/event': 50,
  })
  expect(costsPerEvent({ events: 10, ownCpuUs: 70 })).toEqual({ 'own µs/event': 7 })
})

test('the times of a process are read whatever its name is', () => {
  const numbers = '17 17 17 0 -1 4194304 1 2 3 4 150 50 700 300 20 0 1 0 5 6 7'
  for (const name of ['postgres', 'a) R (b', 'x y z'])
    expect(parseProcessTimes(`4711 (${name}) S ${numbers}\n`)).toEqual({
      parentPid: 17,
      ownUs: 2_000_000,
      endedUs: 10_000_000,
    })
})

/** Keeps the processor busy, says for how long it was, and stays until its input ends. */
const BUSY = `
  while (process.cpuUsage().user < 300_000);
  const { user, system } = process.cpuUsage()
  console.log(user + system)
  process.stdin.resume()`

test.runIf(process.platform === 'linux')(
  'the time of a child is in the time of its family, before it has ended and after',
  async () => {
    const before = readFamilyCpuUs(process.pid) ?? Infinity
    const child = spawn(process.execPath, ['-e', BUSY], { stdio: ['pipe', 'pipe', 'inherit'] })
    const [said] = (await once(child.stdout, 'data')) as [Buffer]
    // Each of the two is counted in ticks of ten milliseconds.
    const usedUs = Number(said.toString()) - 40_000
    expect(readFamilyCpuUs(process.pid)).toBeGreaterThanOrEqual(before + usedUs)
    child.stdin.end()
    await once(child, 'close')
    expect(readFamilyCpuUs(process.pid)).toBeGreaterThanOrEqual(before + usedUs)
  },
)

test('a process that is not there has used nothing that is known', () => {
  expect(readFamilyCpuUs(2 ** 30)).toBeUndefined()
})

test("Redis's processor time counts its children, and its log is the one that is appended to", () => {
  const info = [
    'used_cpu_sys:1.5',
    'used_cpu_user:2.25',
    'used_cpu_sys_children:0.25',
    'used_cpu_user_children:1.0',
    'used_cpu_sys_main_thread:1.4',
    'aof_current_size:4096',
    'aof_base_size:88',
  ]
  expect(parseRedisInfo(info.join('\r\n'))).toEqual({ cpuUs: 5_000_000, logBytes: 4_096 })
  // Without a log it does not name one.
  expect(parseRedisInfo(info.slice(0, 5).join('\r\n')).logBytes).toBe(0)
})
