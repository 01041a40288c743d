/** The `Authorization` value for the user and password of a URL (RFC 7617); null where the URL has neither. */
export function basicAuthorization({ username, password }: URL): string | null {
  if (username === '' && password === '') return null
  const credentials = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`
  return `Basic ${Buffer.from(credentials).toString('base64')}`
}
