import { safeParse } from 'zod/mini'
import { PagecacheError } from '../errors.ts'
import * as value from './values.ts'

const kinds = { origin: value.serverUrl(), url: value.publicUrl() }

/**
 * The URLs of a sales channel that a command line names, as the configuration would read them. Throws
 * INVALID_INPUT that names every fault by its flag.
 */
export function readChannelUrls<Url extends string | null>(named: {
  origin: string
  url: Url
}): { origin: string; url: Url } {
  const faults: string[] = []
  const read = (name: keyof typeof kinds, text: string): string => {
    const parsed = safeParse(kinds[name], text)
    if (!parsed.success) faults.push(`--${name}: expected ${parsed.error.issues[0]?.message ?? 'a URL'}`)
    return parsed.data ?? text
  }
  const origin = read('origin', named.origin)
  const url = named.url === null ? named.url : (read('url', named.url) as Url)
  if (faults.length > 0) throw new PagecacheError('INVALID_INPUT', faults.join('\n'))
  return { origin, url }
}
