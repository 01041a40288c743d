import { distance } from 'fastest-levenshtein'

/** The candidate closest to a mistyped word; null when none is close enough. */
export function closest(word: string, candidates: Iterable<string>): string | null {
  // Up to a third of the letters may differ, or two of four or five, such as swapped ones; more would suggest unrelated words.
  let best: string | null = null
  let bestDistance = Math.max(word.length < 4 ? 1 : 2, Math.ceil(word.length / 3)) + 1
  for (const candidate of candidates) {
    const d = distance(word.toLowerCase(), candidate.toLowerCase())
    if (d < bestDistance) [best, bestDistance] = [candidate, d]
  }
  return best
}
