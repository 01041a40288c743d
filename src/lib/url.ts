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
