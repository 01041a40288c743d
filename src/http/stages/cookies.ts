import { hash, randomBytes } from 'node:crypto'
import { parseCookies } from '../../cache/fields.ts'

/** The cookie behind which the shows of a session are counted (contract section 7). */
const sessionCookie = 'vendor-stage-session'
/** Followed by a stage's id: this visitor does not see it again. */
const hiddenCookie = 'vendor-stage-hidden-'
/** Browsers keep a cookie no longer than 400 days (RFC 6265bis); in seconds. */
const longest = 400 * 24 * 3600

/** What a visitor's cookies say about the stages. */
export interface StageCookies {
  /** Null where there is none, or one that is not ours. */
  session: string | null
  /** Ids of the stages that are not to be shown again. */
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

/** What is stored instead of the session: it cannot be turned back into the cookie. */
export function sessionDigest(session: string): string {
  return hash('sha256', session, 'base64url').slice(0, 22)
}

/** A cookie that lives as long as the browser does. `path`: where the channel's endpoints are, so that no page is asked for with it. */
export function sessionLine(session: string, path: string, secure: boolean): string {
  return `${sessionCookie}=${session}; Path=${path}; HttpOnly; SameSite=Lax${secure ? '; Secure' : ''}`
}

export function hiddenLine(stageId: string, path: string, secure: boolean): string {
  return `${hiddenCookie}${stageId}=1; Path=${path}; Max-Age=${longest}; HttpOnly; SameSite=Lax${secure ? '; Secure' : ''}`
}
