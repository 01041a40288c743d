import type { Encoding } from '../pages/page.ts'

const known: readonly Encoding[] = ['br', 'zstd', 'gzip', 'identity']
const remembered = new Map<string, readonly Encoding[]>()
const identityOnly: readonly Encoding[] = ['identity']

/**
 * The content codings that a client prefers most (RFC 9110 §12.5.3), in our order; the client ranks them equally.
 * Identity is the fallback even where the client refuses it: the visitor gets a page rather than a 406.
 */
export function bestEncodings(header: string | null): readonly Encoding[] {
  if (header === null) return identityOnly
  let accepted = remembered.get(header)
  if (accepted === undefined) {
    accepted = parse(header)
    // Browsers send a handful of values. A client that sends thousands must not fill the memory.
    if (remembered.size > 500) remembered.clear()
    remembered.set(header, accepted)
  }
  return accepted
}

/** Whether a client prefers brotli, or likes it as much as any other coding. */
export function takesBrotli(header: string | null): boolean {
  return bestEncodings(header).includes('br')
}

function parse(header: string): readonly Encoding[] {
  const weights = new Map<string, number>()
  for (const element of header.toLowerCase().split(',')) {
    const [coding, ...parameters] = element.split(';').map((part) => part.trim())
    const quality = parameters.find((parameter) => parameter.startsWith('q='))
    if (coding)
      weights.set(coding === 'x-gzip' ? 'gzip' : coding, quality === undefined ? 1 : Number(quality.slice(2)) || 0)
  }
  const weight = (coding: Encoding) => weights.get(coding) ?? weights.get('*') ?? 0
  const encoded = known.filter((coding) => coding !== 'identity' && weight(coding) > 0)
  const best = Math.max(0, ...encoded.map(weight))
  // Identity wins only with a greater weight than every coding; at equal weight the smaller body wins.
  if (encoded.length === 0 || (weights.get('identity') ?? 0) > best) return identityOnly
  return encoded.filter((coding) => weight(coding) === best)
}
