import { z } from 'zod'
import { pageTypes } from '../pages/page.ts'

/** Fields that more than one operation has, so that they mean and refuse the same everywhere. */

/** An integer of a query string, where everything is text; a number from the command line. */
function queryInteger(minimum: number, maximum: number) {
  const error = `expected a whole number from ${minimum} to ${maximum}`
  const fromText = z.string().regex(/^-?\d{1,15}$/, { error }).transform(Number)
  return z.union([z.number(), fromText], { error }).pipe(z.int({ error }).min(minimum, { error }).max(maximum, { error }))
}

export const limit = queryInteger(1, 1000).default(50)
export const offset = queryInteger(0, Number.MAX_SAFE_INTEGER).default(0)

export const pageType = z.enum(pageTypes, { error: `expected one of ${pageTypes.join(', ')}` })

export const dryRun = z.boolean({ error: 'expected true or false' }).default(false)

export const success = z.literal(true)

/** The beginning of every value; `as const`, because a bare `true` would be read as any boolean. */
export const succeeded = { success: true } as const

export const count = z.int().min(0)
