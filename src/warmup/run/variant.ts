/** A configured variant: the headers and cookies that a warmup sends in an extra pass over each URL. */
export interface Variant {
  headers: Readonly<Record<string, string>>
  cookies: Readonly<Record<string, string>>
}

/** The request headers of each pass. Without variants there is a single pass as an anonymous visitor without cookies. */
export function toPasses(variants: readonly Variant[]): Readonly<Record<string, string>>[] {
  if (variants.length === 0) return [{}]
  return variants.map(({ headers, cookies }) => {
    const cookie = Object.entries(cookies)
      .map(([name, value]) => `${name}=${value}`)
      .join('; ')
    return cookie === '' ? { ...headers } : { ...headers, cookie }
  })
}
