import { PagecacheError } from '../errors.ts'
import { parseSize } from '../lib/quantity.ts'

/** Parses a size in bytes, written as in Symfony (`128M`) or as in the configuration (`128MB`). @throws INVALID_INPUT */
export function toBytes(given: string): number {
  const bytes = /^\d+$/.test(given) ? Number(given) : parseSize(given.replace(/([KMGT])B?$/i, '$1B'))
  if (bytes !== undefined && bytes > 0) return bytes
  throw new PagecacheError('INVALID_INPUT', `memoryLimit: expected a size such as 128M, not ${JSON.stringify(given)}`)
}
