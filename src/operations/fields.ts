import * as z from 'zod/mini'
import { PagecacheError } from '../errors.ts'
import { parseSize } from '../lib/quantity.ts'
import { canonicalUuid } from '../lib/uuid.ts'
import { pageTypes } from '../pages/page.ts'

/** Fields shared by several operations, so that they accept the same values everywhere. */

/** A whole number in a JSON body or from the command line. */
export function integer(minimum: number, maximum: number) {
  const error = wholeNumber(minimum, maximum)
  return z.int({ error }).check(z.minimum(minimum, { error }), z.maximum(maximum, { error }))
}

/** A whole number in a query string, where every value is text. */
export function queryInteger(minimum: number, maximum: number) {
  const error = wholeNumber(minimum, maximum)
  const fromText = z.pipe(z.string().check(z.regex(/^-?\d{1,15}$/, { error })), z.transform(Number))
  return z.pipe(z.union([z.number(), fromText], { error }), integer(minimum, maximum))
}

function wholeNumber(minimum: number, maximum: number): string {
  return `expected a whole number from ${minimum}${maximum === Number.MAX_SAFE_INTEGER ? '' : ` to ${maximum}`}`
}

export function text(expected = 'expected a non-empty text') {
  return z.string({ error: expected }).check(z.minLength(1, { error: expected }))
}

/** An id. A UUID is brought into its canonical form; any other text is kept, because the shop may use other ids. */
export function id(expected: string) {
  return text(expected).check(z.overwrite((value) => canonicalUuid(value) ?? value))
}

/** An id that must be a UUID, in any spelling. */
export function uuid(expected: string) {
  return id(expected).check(z.refine((value) => canonicalUuid(value) !== null, { error: expected }))
}

/** An optional id. A query string may leave it empty (`?progressId=`); callers treat `''` as absent. */
export function optionalId(expected: string) {
  return z.optional(z.string({ error: expected }).check(z.overwrite((value) => canonicalUuid(value) ?? value)))
}

export const limit = z._default(queryInteger(1, 1000), 50)
export const offset = z._default(queryInteger(0, Number.MAX_SAFE_INTEGER), 0)

export const pageType = z.enum(pageTypes, { error: `expected one of ${pageTypes.join(', ')}` })

export const flag = z._default(z.boolean({ error: 'expected true or false' }), false)

export const success = z.literal(true)

/** The first field of every output; `as const` keeps the literal type `true`. */
export const succeeded = { success: true } as const

export const count = z.int().check(z.minimum(0))

/** Output fields of every operation that removes pages, with several machines. */
export const unconfirmed = described(
  z.optional(z.array(z.string())),
  'nodes without a lease, which may serve pages from before for cluster.alone at most; missing for none',
)

/** Adds a description to a field for the OpenAPI document, such as its unit. */
export function described<Field extends z.ZodMiniType>(field: Field, description: string): Field {
  return field.check(z.describe(description)) as Field
}

/** Parses a memory limit in bytes, written as in Symfony (`128M`) or as in the configuration (`128MB`). @throws INVALID_INPUT */
export function toMemoryLimit(given: string): number {
  const bytes = /^\d+$/.test(given) ? Number(given) : parseSize(given.replace(/([KMGT])B?$/i, '$1B'))
  if (bytes !== undefined && bytes > 0) return bytes
  throw new PagecacheError('INVALID_INPUT', `memoryLimit: expected a size such as 128M, not ${JSON.stringify(given)}`)
}
