/** Whether a whole text matches a pattern. */
export type GlobMatcher = (text: string) => boolean

/**
 * Compiles a pattern in which `*` matches any characters and, with `sets`, `[…]` one character of a set (with ranges
 * such as `[a-z]`). Every other character matches itself.
 *
 * Visitors choose the length of the text, so matching never backtracks: each part between two stars is found once,
 * leftmost first, in one pass over the text (docs/decisions/0053-linear-globs.md). Compiling takes time proportional to
 * the pattern, matching to the text; parts with sets take one step per 32 of their positions for each character.
 */
export function globMatcher(pattern: string, { sets = false } = {}): GlobMatcher {
  const [first = [], ...rest] = toParts(pattern, sets)
  const last = rest.pop()
  if (last === undefined) return (text) => text.length === first.length && matchesAt(first, text, 0)
  const searches = rest.filter((part) => part.length > 0).map(toSearch)
  return (text) => {
    const end = text.length - last.length
    let position = first.length
    if (position > end || !matchesAt(first, text, 0) || !matchesAt(last, text, end)) return false
    for (const search of searches) {
      position = search(text, position, end)
      if (position < 0) return false
    }
    return true
  }
}

/** The character codes allowed at one position, as inclusive ranges. */
type CharacterSet = readonly (readonly [from: number, to: number])[]

/** Splits a pattern at its stars. */
function toParts(pattern: string, sets: boolean): CharacterSet[][] {
  const parts: CharacterSet[][] = [[]]
  const lastClose = sets ? pattern.lastIndexOf(']') : -1
  for (let index = 0; index < pattern.length; index++) {
    const close = pattern[index] === '[' && index + 2 <= lastClose ? pattern.indexOf(']', index + 2) : -1
    if (pattern[index] === '*') parts.push([])
    else if (close < 0) parts.at(-1)!.push([[pattern.charCodeAt(index), pattern.charCodeAt(index)]])
    else {
      parts.at(-1)!.push(toSet(pattern.slice(index + 1, close)))
      index = close
    }
  }
  return parts
}

function toSet(members: string): CharacterSet {
  const ranges: [number, number][] = []
  for (let index = 0; index < members.length; index++) {
    const isRange = members[index + 1] === '-' && index + 2 < members.length
    ranges.push([members.charCodeAt(index), members.charCodeAt(isRange ? index + 2 : index)])
    if (isRange) index += 2
  }
  return ranges
}

function holds(set: CharacterSet, code: number): boolean {
  return set.some(([from, to]) => code >= from && code <= to)
}

function matchesAt(part: readonly CharacterSet[], text: string, position: number): boolean {
  return part.every((place, index) => holds(place, text.charCodeAt(position + index)))
}

/** Returns the end of the leftmost occurrence between `from` and `end`; -1 when there is none. */
type Search = (text: string, from: number, end: number) => number

function toSearch(part: readonly CharacterSet[]): Search {
  const codes = part.map(codeOf)
  const search = codes.every((code) => code !== null) ? toLiteralSearch(codes) : toSetSearch(part)
  const needed = longestRun(codes)
  // Most texts lack it, which `includes` finds out faster.
  return (text, from, end) => (text.includes(needed, from) ? search(text, from, end) : -1)
}

/** Characters. `includes` compares each character of a text with at most as many. */
const fewCharacters = 32

/** Characters in a row that every occurrence has: the first of the longest such run. */
function longestRun(codes: readonly (number | null)[]): string {
  let longest = ''
  let run = ''
  for (const code of codes) {
    if (code === null) run = ''
    else if (run.length < fewCharacters) run += String.fromCharCode(code)
    if (run.length > longest.length) longest = run
  }
  return longest
}

/** The only character code allowed at a position; null when there are several. */
function codeOf(set: CharacterSet): number | null {
  const [[from, to]] = set as [CharacterSet[number]]
  return set.length === 1 && from === to ? from : null
}

/** Knuth, Morris and Pratt (1977): each character of the text is read once, and the table has one cell per position. */
function toLiteralSearch(codes: readonly number[]): Search {
  /** For each position, the length of the longest proper prefix that the part up to there ends with. */
  const borders = new Uint32Array(codes.length)
  const next = (matched: number, code: number): number => {
    while (matched > 0 && codes[matched] !== code) matched = borders[matched - 1]!
    return codes[matched] === code ? matched + 1 : 0
  }
  for (let index = 1; index < codes.length; index++) borders[index] = next(borders[index - 1]!, codes[index]!)
  return (text, from, end) => {
    for (let position = from, matched = 0; position < end; position++) {
      matched = next(matched, text.charCodeAt(position))
      if (matched === codes.length) return position + 1
    }
    return -1
  }
}

/**
 * Shift-And (Baeza-Yates and Gonnet, 1992) for parts with sets: bit i of the state says that the first i + 1 positions
 * match the text so far. Each character shifts all bits at once, however repetitive the text is. The mask of a
 * character is made when a text first contains it.
 */
function toSetSearch(part: readonly CharacterSet[]): Search {
  const words = Math.ceil(part.length / 32)
  const masks = new Map<number, Uint32Array>()
  const maskOf = (code: number): Uint32Array => {
    let mask = masks.get(code)
    if (mask === undefined) {
      mask = new Uint32Array(words)
      for (const [index, place] of part.entries()) if (holds(place, code)) mask[index >>> 5]! |= 1 << (index & 31)
      masks.set(code, mask)
    }
    return mask
  }
  const found = 1 << ((part.length - 1) & 31)
  const state = new Uint32Array(words)
  return (text, from, end) => {
    state.fill(0)
    for (let position = from; position < end; position++) {
      const mask = maskOf(text.charCodeAt(position))
      let carry = 1
      for (let word = 0; word < words; word++) {
        const before = state[word]!
        state[word] = ((before << 1) | carry) & mask[word]!
        carry = before >>> 31
      }
      if ((state[words - 1]! & found) !== 0) return position + 1
    }
    return -1
  }
}
