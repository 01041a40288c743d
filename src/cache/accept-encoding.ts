import type { Encoding } from '../pages/page.ts'

const known: readonly Encoding[] = ['br', 'zstd', 'gzip', 'identity']
const parsed = new Map<string, readonly Encoding[]>()
const identityOnly: readonly Encoding[] = ['identity']

/**
 * The codings that a client weights highest (RFC 9110 §12.5.3), in the daemon's order of preference. Falls back to identity even where the
 * client refuses it: the visitor gets a page rather than a 406.
 */
export function bestEncodings(header: string | null): readonly Encoding[] {
  if (header === null) return identityOnly
  let accepted = parsed.get(header)
  if (accepted === undefined) {
    accepted = parse(header)
    // Browsers send a handful of different values; thousands only clear this cache.
    if (parsed.size > 500) parsed.clear()
    parsed.set(header, accepted)
  }
  return accepted
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
  const coded = known.filter((coding) => coding !== 'identity' && weight(coding) > 0)
  const best = Math.max(0, ...coded.map(weight))
  // Identity wins only with a higher weight than any coding; at equal weight the smaller body wins.
  if (coded.length === 0 || (weights.get('identity') ?? 0) > best) return identityOnly
  return coded.filter((coding) => weight(coding) === best)
}
