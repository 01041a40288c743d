import { canonicalUuid } from '../lib/uuid.ts'

/** The id by which the shop knows a customer, as events name it: a UUID in its one form, anything else as it is. Null for what is none. */
export function toCustomerId(text: string): string | null {
  return /^[\w.:@-]{1,64}$/.test(text) ? (canonicalUuid(text) ?? text) : null
}
