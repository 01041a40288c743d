import { distance } from 'fastest-levenshtein'

/** The candidate that a mistyped word most likely meant; null where none is near enough to suggest. */
export function closest(word: string, candidates: Iterable<string>): string | null {
  // A third of the letters may be wrong: more than that suggests words that have nothing to do with it.
  let best: string | null = null
  let bestDistance = Math.max(2, Math.ceil(word.length / 3)) + 1
  for (const candidate of candidates) {
    const d = distance(word.toLowerCase(), candidate.toLowerCase())
    if (d < bestDistance) [best, bestDistance] = [candidate, d]
  }
  return best
}
