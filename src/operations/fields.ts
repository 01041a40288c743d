import * as z from 'zod/mini'
import { canonicalUuid } from '../lib/uuid.ts'
import { pageTypes } from '../pages/page.ts'

/** Fields that more than one operation has, so that they mean and refuse the same everywhere. */

/** A whole number in a JSON body or from the command line. */
export function integer(minimum: number, maximum: number) {
  const error = wholeNumber(minimum, maximum)
  return z.int({ error }).check(z.minimum(minimum, { error }), z.maximum(maximum, { error }))
}

/** The same in a query string, where everything is text. */
export function queryInteger(minimum: number, maximum: number) {
  const error = wholeNumber(minimum, maximum)
  const fromText = z.pipe(z.string().check(z.regex(/^-?\d{1,15}$/, { error })), z.transform(Number))
  return z.pipe(z.union([z.number(), fromText], { error }), integer(minimum, maximum))
}

function wholeNumber(minimum: number, maximum: number): string {
  return `expected a whole number from ${minimum}${maximum === Number.MAX_SAFE_INTEGER ? '' : ` to ${maximum}`}`
}

export function text(expected = 'expected a text that is not empty') {
  return z.string({ error: expected }).check(z.minLength(1, { error: expected }))
}

/** An id, a UUID in any spelling in the one form. Another text stays what it is: it is somebody else's id, or names nothing. */
export function id(expected: string) {
  return text(expected).check(z.overwrite((spelt) => canonicalUuid(spelt) ?? spelt))
}

/** An id that can only be a UUID, in any spelling; what is another text is refused. */
export function uuid(expected: string) {
  return id(expected).check(z.refine((spelt) => canonicalUuid(spelt) !== null, { error: expected }))
}

/** An id that a query string may leave empty (`?progressId=`), which means that none is given: callers take `''` as absent. */
export function optionalId(expected: string) {
  return z.optional(z.string({ error: expected }).check(z.overwrite((spelt) => canonicalUuid(spelt) ?? spelt)))
}

export const limit = z._default(queryInteger(1, 1000), 50)
export const offset = z._default(queryInteger(0, Number.MAX_SAFE_INTEGER), 0)

export const pageType = z.enum(pageTypes, { error: `expected one of ${pageTypes.join(', ')}` })

export const flag = z._default(z.boolean({ error: 'expected true or false' }), false)

export const success = z.literal(true)

/** The beginning of every value; `as const`, because a bare `true` would be read as any boolean. */
export const succeeded = { success: true } as const

export const count = z.int().check(z.minimum(0))

/** What the unit is, or what a field means, for the OpenAPI document. */
export function described<Field extends z.ZodMiniType>(field: Field, description: string): Field {
  return field.check(z.describe(description)) as Field
}
