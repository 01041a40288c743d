/** What an extra pass of a warmup sends along, as the configuration has it. */
export interface Variant {
  headers: Readonly<Record<string, string>>
  cookies: Readonly<Record<string, string>>
}

/** The request fields of each pass; without any variant there is one, of an anonymous visitor without cookies. */
export function toPasses(variants: readonly Variant[]): Readonly<Record<string, string>>[] {
  if (variants.length === 0) return [{}]
  return variants.map(({ headers, cookies }) => {
    const cookie = Object.entries(cookies)
      .map(([name, value]) => `${name}=${value}`)
      .join('; ')
    return cookie === '' ? { ...headers } : { ...headers, cookie }
  })
}
