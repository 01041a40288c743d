/** The port of an http or https URL, also where it is not written because it is the scheme's own. */
export function portOf(url: URL): number {
  if (url.port !== '') return Number(url.port)
  return url.protocol === 'https:' ? 443 : 80
}
