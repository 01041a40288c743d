import { randomBytes } from 'node:crypto'
import { LRUCache } from 'lru-cache'
import type { Product } from './catalogue.ts'
import { defaultCurrency, readCookies, sessionCookie, type Context } from './shopware.ts'

export interface Session {
  id: string
  email: string | null
  basket: Map<Product, number>
  currency: string
  seenAt: number
}

export interface Sessions {
  /** The session of a cookie header; null if there is none or it has expired. */
  find(cookies: string | undefined): Session | null
  /** Creates a session with a new id. It takes over the contents of the old session, which ends. */
  renew(before: Session | null): Session
  end(session: Session): void
}

/** A session without requests for this long expires (milliseconds). */
const maxIdle = 30 * 60_000
/** Sessions kept in memory; beyond that the least recently used one is evicted. */
const maxSessions = 10_000

export function createSessions(clock: () => number): Sessions {
  const sessions = new LRUCache<string, Session>({ max: maxSessions })

  function find(cookies: string | undefined): Session | null {
    const session = sessions.get(readCookies(cookies).get(sessionCookie) ?? '')
    if (session === undefined) return null
    if (clock() - session.seenAt > maxIdle) {
      sessions.delete(session.id)
      return null
    }
    session.seenAt = clock()
    return session
  }

  function renew(before: Session | null): Session {
    if (before !== null) sessions.delete(before.id)
    const session = {
      id: createSessionId(),
      email: before?.email ?? null,
      basket: before?.basket ?? new Map(),
      currency: before?.currency ?? defaultCurrency,
      seenAt: clock(),
    }
    sessions.set(session.id, session)
    return session
  }

  return { find, renew, end: (session) => void sessions.delete(session.id) }
}

export function createSessionId(): string {
  return randomBytes(16).toString('hex')
}

/** Customers whose e-mail address is in such a domain get dealers' prices. */
const dealers = /@dealers\b/

/** What pages depend on. It never has anything that identifies a customer. */
export function contextOf(session: Session | null): Context {
  const email = session?.email ?? null
  return {
    group: email === null ? null : dealers.test(email) ? 'dealers' : 'customers',
    currency: session?.currency ?? defaultCurrency,
    items: session === null ? 0 : [...session.basket.values()].reduce((sum, quantity) => sum + quantity, 0),
  }
}

/** The first name of a customer, as the account page shows it. */
export function nameOf(email: string): string {
  const name = email.split('@')[0]!
  return name.slice(0, 1).toUpperCase() + name.slice(1)
}
