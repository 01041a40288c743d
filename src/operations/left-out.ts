import { formatCount } from '../lib/format-count.ts'
import type { RunDiscovery } from '../warmup/discover/plan.ts'

/** Counts of what discovery left out. */
export type LeftOut = Pick<
  RunDiscovery,
  'foreign' | 'malformed' | 'excluded' | 'disallowed' | 'duplicates' | 'otherTypes' | 'unknownType'
>

/** What discovery left out, in words; empty where it left out nothing. */
export function leftOutText(discovery: LeftOut): string {
  const parts: [number, string][] = [
    [discovery.foreign, 'of other hosts or channels'],
    [discovery.disallowed, 'disallowed by robots.txt'],
    [discovery.excluded, 'excluded (never cached or with side effects)'],
    [discovery.malformed, 'malformed'],
    [discovery.otherTypes, 'of other types'],
    [discovery.unknownType, 'of unknown type'],
    [discovery.duplicates, 'duplicate'],
  ]
  return parts
    .filter(([count]) => count > 0)
    .map(([count, what]) => `${formatCount(count)} ${what}`)
    .join(', ')
}
