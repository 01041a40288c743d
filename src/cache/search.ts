/** Minimum length of a needle: the search indexes candidates by this many characters. */
export const shortestNeedle = 4

/** Comparisons allowed in addition to two per character. Only needles crafted for a text need more. */
const spareComparisons = 100_000

/** Marks the ends of candidates during a search: one for all searches, because 64 kB for each would be most of a miss's garbage. */
const filter = new Uint8Array(1 << 16)

/**
 * Finds any of many needles (each of at least `shortestNeedle` characters) in a text; null when none is found. Scans
 * the text once, however many needles a visitor supplies. When the comparison limit is reached, returns the current
 * needle.
 */
export function findAny(text: string, needles: Iterable<string>): string | null {
  const candidates = new Map<number, string[]>()
  for (const needle of needles) {
    let key = 0
    for (let index = 0; index < shortestNeedle; index++) key = push(key, needle.charCodeAt(index))
    filter[slotOf(key)] = 1
    const same = candidates.get(key)
    if (same === undefined) candidates.set(key, [needle])
    else same.push(needle)
  }
  try {
    return findCandidate(text, candidates)
  } finally {
    for (const key of candidates.keys()) filter[slotOf(key)] = 0
  }
}

function findCandidate(text: string, candidates: ReadonlyMap<number, readonly string[]>): string | null {
  let key = 0
  let comparisons = spareComparisons + 2 * text.length
  for (let end = 1; end <= text.length; end++) {
    key = push(key, text.charCodeAt(end - 1))
    if (filter[slotOf(key)] === 0 || end < shortestNeedle) continue
    for (const needle of candidates.get(key) ?? []) {
      if (text.startsWith(needle, end - shortestNeedle) || --comparisons < 0) return needle
    }
  }
  return null
}

/** The last four characters as one number, using the low byte of each. */
function push(key: number, code: number): number {
  return (key << 8) | (code & 0xff)
}

function slotOf(key: number): number {
  return Math.imul(key, 0x9e3779b1) >>> 16
}
