/** The port of an http or https URL, including the scheme's default. */
export function portOf(url: URL): number {
  if (url.port !== '') return Number(url.port)
  return url.protocol === 'https:' ? 443 : 80
}

/** Removes trailing slashes in linear time (`/\/+$/` is quadratic). */
export function trimEndingSlashes(text: string): string {
  let end = text.length
  while (end > 0 && text[end - 1] === '/') end--
  return text.slice(0, end)
}

/** The `Authorization` value for the user and password of a URL (RFC 7617); null where the URL has neither. */
export function basicAuthorization({ username, password }: URL): string | null {
  if (username === '' && password === '') return null
  const credentials = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`
  return `Basic ${Buffer.from(credentials).toString('base64')}`
}
