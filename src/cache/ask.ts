import type { HeaderPair } from '../pages/page.ts'
import { classify, type Classified, type ClassifyOptions } from './question.ts'

/**
 * A URL as a visitor without anything but these request fields would ask for it; null where it belongs to no channel. This is how the
 * warmup and an operator's question come to the same key as a visitor.
 */
export function askFor(
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
