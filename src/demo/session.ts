import { createHash, randomBytes } from 'node:crypto'
import { LRUCache } from 'lru-cache'
import type { Product } from './catalogue.ts'
import type { Visitor } from './layout.ts'

export interface Session {
  id: string
  email: string | null
  basket: Map<Product, number>
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

/** Shopware's name of the session cookie. */
const sessionCookie = 'session-'

export function createSessions(clock: () => number): Sessions {
  const sessions = new LRUCache<string, Session>({ max: maxSessions })

  function find(cookies: string | undefined): Session | null {
    const session = sessions.get(readCookie(cookies, sessionCookie) ?? '')
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
      seenAt: clock(),
    }
    sessions.set(session.id, session)
    return session
  }

  return { find, renew, end: (session) => void sessions.delete(session.id) }
}

export function hasSessionCookie(cookies: string | undefined): boolean {
  return readCookie(cookies, sessionCookie) !== null
}

/** The session cookie of a visitor's first page. No session is stored for it yet. */
export function firstCookie(): string {
  return toCookie(sessionCookie, createSessionId())
}

/**
 * The cookies that tell a cache in front of the shop the state of a visitor. As in Shopware, the hash is the same for all visitors in
 * the same state: it is neither secret nor personal.
 */
export function stateCookies(session: Session): string[] {
  const states = statesOf(session)
  const hash = createHash('sha256').update(states.join()).digest('hex').slice(0, 32)
  return [toCookie(sessionCookie, session.id), toCookie('sw-states', states.join(',')), toCookie('sw-cache-hash', hash)]
}

/** Deletes all session and state cookies. */
export function endCookies(): string[] {
  return [sessionCookie, 'sw-states', 'sw-cache-hash'].map((name) => `${toCookie(name, '')}; max-age=0`)
}

export function toVisitor(session: Session | null): Visitor {
  const name = session?.email?.split('@')[0] ?? null
  return {
    name: name === null ? null : name.slice(0, 1).toUpperCase() + name.slice(1),
    items: session === null ? 0 : [...session.basket.values()].reduce((sum, quantity) => sum + quantity, 0),
  }
}

export function statesOf(session: Session | null): string[] {
  const states = []
  if (session !== null && session.email !== null) states.push('logged-in')
  if (session !== null && session.basket.size > 0) states.push('cart-filled')
  return states
}

function createSessionId(): string {
  return randomBytes(16).toString('hex')
}

function toCookie(name: string, value: string): string {
  return `${name}=${encodeURIComponent(value)}; path=/; httponly; samesite=lax`
}

function readCookie(header: string | undefined, name: string): string | null {
  for (const pair of (header ?? '').split(';')) {
    const [key, value] = pair.trim().split('=', 2)
    if (key === name && value !== undefined) return value
  }
  return null
}
