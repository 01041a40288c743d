import { safeParse } from 'zod/mini'
import { PagecacheError } from '../errors.ts'
import * as value from './values.ts'

const kinds = { origin: value.serverUrl(), url: value.publicUrl() }

/**
 * Validates the URLs of a sales channel given as flags, with the rules of the configuration.
 *
 * @throws INVALID_INPUT naming every invalid flag
 */
export function readChannelUrls<Url extends string | null>(named: {
  origin: string
  url: Url
}): { origin: string; url: Url } {
  const errors: string[] = []
  const read = (name: keyof typeof kinds, text: string): string => {
    const parsed = safeParse(kinds[name], text)
    if (!parsed.success) errors.push(`--${name}: expected ${parsed.error.issues[0]?.message ?? 'a URL'}`)
    return parsed.data ?? text
  }
  const origin = read('origin', named.origin)
  const url = named.url === null ? named.url : (read('url', named.url) as Url)
  if (errors.length > 0) throw new PagecacheError('INVALID_INPUT', errors.join('\n'))
  return { origin, url }
}
