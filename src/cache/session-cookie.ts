/**
 * Names of the cookie that holds a login of the admin page, over TLS and without it. Browsers keep `__Host-` cookies from other
 * hosts of the same domain.
 */
const names = { https: '__Host-pagecache-session', http: 'pagecache-session' } as const

/** Part of both names. */
const mark = 'pagecache-session'

export function sessionCookieName(scheme: string): string {
  return scheme === 'https' ? names.https : names.http
}

/** A Cookie field without logins of the admin page, which are for the daemon alone; null if nothing is left. */
export function withoutSession(cookies: string): string | null {
  if (!cookies.includes(mark)) return cookies
  const kept = cookies.split(';').filter((pair) => !Object.values(names).some((name) => name === nameOf(pair)))
  return kept.length === 0 ? null : kept.join(';').trim()
}

/** The value of the session cookie; null without it, or where several are sent: another site of this host may have added one. */
export function sessionOf(cookies: string | undefined, scheme: string): string | null {
  if (cookies === undefined || !cookies.includes(mark)) return null
  const found = cookies.split(';').filter((pair) => nameOf(pair) === sessionCookieName(scheme))
  return found.length === 1 ? found[0]!.slice(found[0]!.indexOf('=') + 1).trim() : null
}

function nameOf(pair: string): string {
  const equals = pair.indexOf('=')
  return (equals < 0 ? pair : pair.slice(0, equals)).trim()
}
