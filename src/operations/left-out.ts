import { formatCount } from '../lib/format.ts'
import type { RunDiscovery } from '../warmup/discover/plan.ts'

/** Numbers of URLs that discovery left out, by reason. */
export type LeftOut = Pick<
  RunDiscovery,
  'foreign' | 'malformed' | 'excluded' | 'disallowed' | 'duplicates' | 'otherTypes' | 'unknownType' | 'otherTags'
>

/** Describes what discovery left out; empty if nothing. */
export function leftOutText(discovery: LeftOut): string {
  const parts: [number, string][] = [
    [discovery.foreign, 'of other hosts or channels'],
    [discovery.disallowed, 'disallowed by robots.txt'],
    [discovery.excluded, 'never cached or with side effects'],
    [discovery.malformed, 'malformed'],
    [discovery.otherTypes, 'of other types'],
    [discovery.unknownType, 'of unknown type'],
    [discovery.otherTags, 'without the tag'],
    [discovery.duplicates, 'duplicate'],
  ]
  return parts
    .filter(([count]) => count > 0)
    .map(([count, reason]) => `${formatCount(count)} ${reason}`)
    .join(', ')
}
