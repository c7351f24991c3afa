/**
 * What is done in Redis, each in one script, so that no other client comes between the look and the change.
 *
 * One entry is one key, so every script runs on one node of a cluster. Its value is one of
 *
 *     lease <token>                               a process runs it; expires unless it is renewed
 *     done <token> <fingerprint or -> <result>    it is done; expires with the retention
 *
 * Where a source watches for known bytes under another key, these have a key as well:
 *
 *     content <key hash> <fingerprint>            which event they are; expires with the retention
 *
 * Every change of a lease compares the whole value with the lease of the caller: a holder that
 * was paused past its lease finds another value, or none, and changes nothing.
 *
 * Clients send a command again when its answer was lost with the connection, so each script does the
 * same when it runs twice: a claim finds its own lease and has it, a mark finds its own mark.
 * `test/guard/resent.test.ts` sends every command twice.
 *
 * @module
 */

import { createHash } from 'node:crypto'

export interface Script {
  readonly text: string
  readonly sha1: string
}

// ARGV[1] lease  ARGV[2] how long it is good for, in ms
export const CLAIM = script(`
local held = redis.call('get', KEYS[1])
if held and held ~= ARGV[1] then
  return { 'held', held, tostring(redis.call('pttl', KEYS[1])) }
end
redis.call('set', KEYS[1], ARGV[1], 'px', ARGV[2])
return { 'claimed' }
`)

// ARGV[1] lease  ARGV[2] how long it is good for from now, in ms
export const RENEW = script(`
if redis.call('get', KEYS[1]) ~= ARGV[1] then return { 'lost' } end
redis.call('pexpire', KEYS[1], ARGV[2])
return { 'renewed' }
`)

// ARGV[1] lease  ARGV[2] mark  ARGV[3] how long it is kept, in ms
export const COMPLETE = script(`
local held = redis.call('get', KEYS[1])
if held ~= ARGV[1] and held ~= ARGV[2] then return { 'lost' } end
redis.call('set', KEYS[1], ARGV[2], 'px', ARGV[3])
return { 'marked' }
`)

// ARGV[1] lease
export const GIVE_BACK = script(`
if redis.call('get', KEYS[1]) ~= ARGV[1] then return { 'lost' } end
redis.call('del', KEYS[1])
return { 'given-back' }
`)

export const READ = script(`
local held = redis.call('get', KEYS[1])
if not held then return { 'absent' } end
return { 'held', held, tostring(redis.call('pttl', KEYS[1])) }
`)

// For after-commit, where no delivery holds a lease: the first mark stays, with its result.
// ARGV[1] mark  ARGV[2] how long it is kept, in ms
export const MARK = script(`
local held = redis.call('get', KEYS[1])
if held and string.sub(held, 1, 5) == 'done ' then return { 'marked' } end
redis.call('set', KEYS[1], ARGV[1], 'px', ARGV[2])
return { 'marked' }
`)

// Bytes, or a signed delivery, belong to the first key they came under. It may ask again.
// ARGV[1] owner  ARGV[2] how long that is kept, in ms
export const OWN_CONTENT = script(`
local held = redis.call('get', KEYS[1])
if held and held ~= ARGV[1] then return { 'held', held } end
redis.call('set', KEYS[1], ARGV[1], 'px', ARGV[2])
return { 'owned' }
`)

// A lease is left alone: without it a second run would start beside the first.
export const FORGET = script(`
local held = redis.call('get', KEYS[1])
if not held then return { 'absent' } end
if string.sub(held, 1, 6) == 'lease ' then return { 'running' } end
redis.call('del', KEYS[1])
return { 'forgotten' }
`)

// Through a script: CONFIG needs rights that an application seldom has. The key says which node is asked.
export const MEMORY_POLICY = script(`
local info = redis.pcall('info', 'memory')
if type(info) ~= 'string' then return { 'untold' } end
if string.match(info, 'maxmemory:0\\r') then return { 'told', 'noeviction' } end
local policy = string.match(info, 'maxmemory_policy:([%w-]+)')
if not policy then return { 'untold' } end
return { 'told', policy }
`)

function script(text: string): Script {
  return { text, sha1: createHash('sha1').update(text).digest('hex') }
}
