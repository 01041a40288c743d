import { createHash } from 'node:crypto'

/** Remembers digests of confirmations; disposable, bounded, shared by all processes of a daemon. */
export interface ConfirmationLedger {
  has(digest: string): boolean
  add(digest: string): void
  delete(digest: string): void
}

/** Digests parts of a key. Short because many are kept, long enough that guessing finds none. */
export function digest(...parts: readonly string[]): string {
  return createHash('sha256').update(parts.join('\n')).digest('base64url').slice(0, 27)
}
