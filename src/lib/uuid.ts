import { randomUUID } from 'node:crypto'

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
 * A UUID of version 7 (RFC 9562 §5.7). Its first 48 bits are the time, so that rows with such a key are written in order. The
 * random part comes from the runtime's pool, which takes a tenth of the time of requesting random bytes.
 *
 * @param now milliseconds since the epoch
 * @param bits ten bytes to use instead of the random part
 */
export function uuidv7(now: number, bits?: Buffer): string {
  const time = now.toString(16).padStart(12, '0')
  if (bits === undefined) return `${time.slice(0, 8)}-${time.slice(8)}-7${randomUUID().slice(15)}`
  const rest = Buffer.from(bits)
  rest[0] = 0x70 | (rest[0]! & 0x0f)
  rest[2] = 0x80 | (rest[2]! & 0x3f)
  return withDashes(time + rest.toString('hex'))
}
