import { hash, randomBytes } from 'node:crypto'
import { parseCookies } from '../../cache/fields.ts'

/** The cookie that identifies a session, so that its impressions can be counted. */
const sessionCookie = 'vendor-stage-session'
/** Followed by a stage's id: the stage is no longer shown to this visitor. */
const hiddenCookie = 'vendor-stage-hidden-'
/** Seconds. Browsers keep a cookie for at most 400 days (RFC 6265bis). */
const maxAge = 400 * 24 * 3600

/** The stage cookies of a visitor. They are never stored with events. */
export interface StageCookies {
  /** Null where the cookie is missing or malformed. */
  session: string | null
  /** Ids of the stages that are no longer shown to this visitor. */
  hidden: string[]
}

export function readStageCookies(header: string | null): StageCookies {
  if (header === null || !header.includes('vendor-stage-')) return { session: null, hidden: [] }
  const cookies = parseCookies(header)
  const session = cookies.get(sessionCookie) ?? ''
  return {
    session: /^[\w-]{22}$/.test(session) ? session : null,
    hidden: [...cookies.keys()]
      .filter((name) => name.startsWith(hiddenCookie))
      .map((name) => name.slice(hiddenCookie.length)),
  }
}

export function newSession(): string {
  return randomBytes(16).toString('base64url')
}

/** A one-way hash, stored instead of the session so that the cookie cannot be recovered. */
export function sessionDigest(session: string): string {
  return hash('sha256', session, 'base64url').slice(0, 22)
}

/** The `Set-Cookie` line of a session cookie. `path`: the channel's stage endpoints, so that page requests do not carry it. */
export function sessionLine(session: string, path: string, secure: boolean): string {
  return `${sessionCookie}=${session}; Path=${path}; HttpOnly; SameSite=Lax${secure ? '; Secure' : ''}`
}

/** The `Set-Cookie` line that hides a stage from this visitor. */
export function hiddenLine(stageId: string, path: string, secure: boolean): string {
  return `${hiddenCookie}${stageId}=1; Path=${path}; Max-Age=${maxAge}; HttpOnly; SameSite=Lax${secure ? '; Secure' : ''}`
}
