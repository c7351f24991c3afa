import { digestOfParts, uuidOf } from './digest.ts'

/**
 * The id of a lane of messages. Follows from the destination and the name, so that two processes mean the same lane;
 * two lanes do not collide by chance in 128 bits.
 */
export function messageLaneIdOf(destination: string, name: string): string {
  return uuidOf(digestOfParts('message lane', destination, name))
}
