import type { HeaderPair } from '../pages/page.ts'
import { classify, type Classified, type ClassifyOptions } from './lookup.ts'

/**
 * Classifies a URL as if a visitor requested it with these request fields only; null when no sales channel has the URL.
 * The warmup and `cache:inspect` use it to get the same cache key as a visitor.
 */
export function classifyUrl(
  url: string,
  headers: Readonly<Record<string, string>>,
  signal: AbortSignal,
  options: ClassifyOptions,
): Exclude<Classified, { kind: 'unknown-site' }> | null {
  const place = options.channels.locate(url)
  if (place === null) return null
  const fields: HeaderPair[] = Object.entries(headers)
  const { scheme, host } = place.channel
  const classified = classify(
    {
      method: 'GET',
      scheme,
      host,
      target: place.target,
      headers: fields,
      remoteAddress: null,
      forwardedFor: null,
      body: null,
      signal,
      onInterim: () => {},
    },
    options,
    true,
  )
  return classified.kind === 'unknown-site' ? null : classified
}
