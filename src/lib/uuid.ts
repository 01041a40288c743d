import { randomBytes } from 'node:crypto'

const spelling = /^[0-9a-f]{8}-?(?:[0-9a-f]{4}-?){3}[0-9a-f]{12}$/i

/**
 * Normalises a UUID to lower case with dashes (RFC 9562 §4), the form in which ids are stored; Shopware omits the
 * dashes. Null for an invalid UUID.
 */
export function canonicalUuid(text: string): string | null {
  return spelling.test(text) ? withDashes(text.toLowerCase().replaceAll('-', '')) : null
}

function withDashes(hex: string): string {
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`
}

/**
 * A UUID of version 7 (RFC 9562 §5.7): the first 48 bits are the time, so that rows with such a key are
 * written in the order in which they came. `now` is milliseconds since the epoch.
 */
export function uuidv7(now: number, random: Buffer = randomBytes(10)): string {
  const bytes = Buffer.alloc(16)
  bytes.writeUIntBE(now, 0, 6)
  random.copy(bytes, 6, 0, 10)
  bytes[6] = 0x70 | (bytes[6]! & 0x0f)
  bytes[8] = 0x80 | (bytes[8]! & 0x3f)
  return withDashes(bytes.toString('hex'))
}
