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
  /** The live session of a cookie header; null where there is none or it is unknown. */
  find(cookies: string | undefined): Session | null
  /** A new session under a new id; what an older one held moves into it, and the older one ends. */
  renew(before: Session | null): Session
  end(session: Session): void
}

/** Milliseconds without a request after which a session is forgotten. */
const idle = 30 * 60_000
/** Sessions are held in memory; beyond so many the one not seen for longest is forgotten. */
const most = 10_000

/** Shopware's name of the session cookie. */
const sessionCookie = 'session-'

export function createSessions(clock: () => number): Sessions {
  const sessions = new LRUCache<string, Session>({ max: most })

  function find(cookies: string | undefined): Session | null {
    const session = sessions.get(readCookie(cookies, sessionCookie) ?? '')
    if (session === undefined) return null
    if (clock() - session.seenAt > idle) {
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

/** What a visitor gets with the first page: an id behind which nothing is kept yet. */
export function firstCookie(): string {
  return toCookie(sessionCookie, createSessionId())
}

/**
 * The cookies that tell a cache in front of the shop what kind of visitor this is. The hash is the
 * same for everyone in the same state, as Shopware's is: it is no secret and names nobody.
 */
export function stateCookies(session: Session): string[] {
  const states = statesOf(session)
  const hash = createHash('sha256').update(states.join()).digest('hex').slice(0, 32)
  return [toCookie(sessionCookie, session.id), toCookie('sw-states', states.join(',')), toCookie('sw-cache-hash', hash)]
}

/** Takes all of them away again. */
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
