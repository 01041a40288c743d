import { randomBytes } from 'node:crypto'
import { uuidv7 } from './uuid.ts'

const last = { at: 0, count: 0 }

/**
 * Makes a UUID of version 7 that sorts after all earlier ones of this process: the bits after the time are a counter within the
 * millisecond (RFC 9562 §6.2, method 1). `now` is milliseconds since the epoch.
 */
export function orderedId(now: number): string {
  if (now !== last.at) Object.assign(last, { at: now, count: 0 })
  const random = randomBytes(10)
  // Twelve bits before the variant and fourteen after it.
  random.writeUInt16BE((last.count >> 14) & 0x0fff, 0)
  random.writeUInt16BE(last.count & 0x3fff, 2)
  last.count++
  return uuidv7(now, random)
}
