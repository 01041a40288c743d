/** Minimum length of a needle: candidates are grouped by this many characters. */
export const shortestNeedle = 4

/** Comparisons of up to 16 characters allowed in addition to two per character. Only needles crafted for a text need more. */
const spareComparisons = 100_000
const comparedAtOnce = 16

/** Bytes of a block: the search compares the last ones of a window with the blocks of all needles at once. */
const block = 3
const longestWindow = 255
/** Needles below this length shorten the window. A few of them are searched for one by one, which takes 2 µs each in 20 kB. */
const longEnough = 8
const mostPlain = 8
/** Characters without case. Sequences of them are rare, and can be found without a lower-case copy of the text. */
const caselessRuns = /[ -@[-`{-~]{3,}/g
/** Those, the rarest in HTML first: the system's search stops wherever a text has the first character of what it looks for. */
const rarestFirst = '^~`\\*@$|+![]%?#{}\'&;(),_.98765432:01/>=<-" '
/** How many occurrences to check before the copy is cheaper. */
const mostOccurrences = 32
/** A power of two. With more blocks than this, the search takes one step per byte. */
const slots = 4096

/**
 * Finds any of many needles in bytes, however many there are: Wu and Manber's algorithm, which passes over most of a text. Letters
 * match in either case.
 */
export class NeedleSearch {
  /** What all other needles have in common, in groups; null where they have too little. */
  readonly #groups: readonly Group[] | null
  /** Needles searched for one by one. */
  readonly #plain: readonly { needle: string; anchor: Anchor | null }[]
  /** Length of the window: that of the shortest other needle. Infinite when there is none. */
  readonly #window: number
  /** How far the window may move, by the block at its end. */
  readonly #steps = new Uint8Array(slots)
  /** Needles by their first four characters. */
  readonly #candidates = new Map<number, string[]>()

  /** @param needles in lower case, each of at least `shortestNeedle` characters */
  constructor(needles: Iterable<string>) {
    const all = withoutLonger([...needles])
    const short = all.filter(({ length }) => length < longEnough)
    const plain = short.length > mostPlain ? [] : short
    this.#plain = plain.map((needle) => ({ needle, anchor: anchorOf(needle) }))
    const others = all.filter((needle) => !plain.includes(needle))
    this.#groups = groupsOf(others)
    this.#window = others.reduce((least, { length }) => Math.min(least, length, longestWindow), Infinity)
    this.#steps.fill(this.#window - block + 1)
    for (const needle of others) {
      const key = keyOf((index) => needle.charCodeAt(index), 0)
      const same = this.#candidates.get(key)
      if (same === undefined) this.#candidates.set(key, [needle])
      else same.push(needle)
      for (let end = block - 1; end < this.#window; end++) {
        const slot = slotOf(needle.charCodeAt(end - 2), needle.charCodeAt(end - 1), needle.charCodeAt(end))
        this.#steps[slot] = Math.min(this.#steps[slot]!, this.#window - 1 - end)
      }
    }
  }

  /** A needle in a text, read as Latin-1; null when there is none. At the limit of comparisons, the current needle. */
  find(text: Buffer): string | null {
    let lowered: string | null = null
    for (const { needle, anchor } of this.#plain) {
      const found = anchor === null ? null : hasAt(text, needle, anchor)
      if (found ?? (lowered ??= text.toString('latin1').toLowerCase()).includes(needle)) return needle
    }
    const found = this.#groups === null ? undefined : findInGroups(text, this.#groups)
    return found === undefined ? this.#findOther(text) : found
  }

  #findOther(text: Buffer): string | null {
    const window = this.#window
    const steps = this.#steps
    let comparisons = spareComparisons + 2 * text.length
    for (let end = window - 1; end < text.length;) {
      const step = steps[slotOf(text[end - 2]!, text[end - 1]!, text[end]!)]!
      if (step > 0) {
        end += step
        continue
      }
      const start = end - window + 1
      for (const needle of this.#candidates.get(keyOf((index) => text[index]!, start)) ?? []) {
        const length = commonLength(text, start, needle)
        comparisons -= 1 + Math.floor(length / comparedAtOnce)
        if (length === needle.length || comparisons < 0) return needle
      }
      end += 1
    }
    return null
  }
}

/** Needles that contain the same characters without case, and where. */
interface Group {
  bytes: Buffer
  members: readonly { needle: string; at: number }[]
}

/** More groups, or more needles, take longer than a search for all of them at once. */
const mostGroups = 5
const mostGrouped = 32
const longestShared = 7

/**
 * Groups needles by characters without case that they have in common: the spellings of a value share its numbers, for example. The system's
 * search for a few such texts takes a third of the time. Null where a few groups cannot have all needles.
 */
function groupsOf(needles: readonly string[]): Group[] | null {
  const groups: Group[] = []
  let left = needles.length > mostGrouped ? null : needles
  while (left !== null && left.length > 0) {
    const shared = groups.length === mostGroups ? null : mostShared(left)
    if (shared === null) return null
    const members = left.filter((needle) => needle.includes(shared))
    groups.push({
      bytes: Buffer.from(shared, 'latin1'),
      members: members.map((needle) => ({ needle, at: needle.indexOf(shared) })),
    })
    left = left.filter((needle) => !needle.includes(shared))
  }
  return left === null ? null : groups
}

/** The characters without case that most needles contain, of these the quickest to find; null for needles without any. */
function mostShared(needles: readonly string[]): string | null {
  const counts = new Map<string, number>()
  for (const needle of needles) for (const part of caselessParts(needle)) counts.set(part, (counts.get(part) ?? 0) + 1)
  let best: string | null = null
  const rank = (part: string) =>
    (counts.get(part)! * rarestFirst.length - rarestFirst.indexOf(part[0]!)) * longestShared + part.length - 1
  for (const part of counts.keys()) if (best === null || rank(part) > rank(best)) best = part
  return best
}

/** All parts of a needle that have three to seven characters, each without case. */
function caselessParts(needle: string): Set<string> {
  const parts = new Set<string>()
  for (const [run] of needle.matchAll(caselessRuns))
    for (let start = 0; start + block <= run.length; start++)
      for (let end = start + block; end <= Math.min(run.length, start + longestShared); end++)
        parts.add(run.slice(start, end))
  return parts
}

/** The needle that was found, or null; undefined where what needles have in common occurs too often. */
function findInGroups(text: Buffer, groups: readonly Group[]): string | null | undefined {
  for (const { bytes, members } of groups) {
    let count = 0
    for (let found = text.indexOf(bytes); found !== -1; found = text.indexOf(bytes, found + 1)) {
      if ((count += 1) > mostOccurrences) return undefined
      for (const { needle, at } of members)
        if (found >= at && commonLength(text, found - at, needle) === needle.length) return needle
    }
  }
  return null
}

/** With more needles than this, comparing each with all others would take too long: clients choose them. */
const mostCompared = 64

/** Needles without those that contain another one, which is found wherever they are. */
function withoutLonger(needles: string[]): string[] {
  if (needles.length > mostCompared) return needles
  return needles.filter((needle) => !needles.some((other) => other !== needle && needle.includes(other)))
}

/** A part of a needle without case. */
interface Anchor {
  bytes: Buffer
  /** Its position in the needle. */
  at: number
}

function anchorOf(needle: string): Anchor | null {
  const shared = mostShared([needle])
  return shared === null ? null : { bytes: Buffer.from(shared, 'latin1'), at: needle.indexOf(shared) }
}

/** Whether a text contains a needle at any occurrence of its anchor; null if the anchor occurs too often to check cheaply. */
function hasAt(text: Buffer, needle: string, { bytes, at }: Anchor): boolean | null {
  let found = text.indexOf(bytes)
  for (let count = 0; found !== -1; count++) {
    if (count === mostOccurrences) return null
    if (found >= at && commonLength(text, found - at, needle) === needle.length) return true
    found = text.indexOf(bytes, found + 1)
  }
  return false
}

/** How many characters of a needle are in a text at a position, in either case. */
function commonLength(text: Buffer, start: number, needle: string): number {
  let length = 0
  while (length < needle.length && lower(text[start + length]) === needle.charCodeAt(length)) length += 1
  return length
}

/** A Latin-1 character in lower case. */
function lower(code = 0): number {
  const isUpper = (code >= 0x41 && code <= 0x5a) || (code >= 0xc0 && code <= 0xde && code !== 0xd7)
  return isUpper ? code + 0x20 : code
}

/** Four characters as one number, using the low byte of each without the bit that distinguishes cases. */
function keyOf(codeAt: (index: number) => number, start: number): number {
  let key = 0
  for (let index = start; index < start + shortestNeedle; index++) key = (key << 8) | ((codeAt(index) | 0x20) & 0xff)
  return key
}

function slotOf(first: number, second: number, third: number): number {
  const key = (((first | 0x20) & 0xff) << 16) | (((second | 0x20) & 0xff) << 8) | ((third | 0x20) & 0xff)
  return Math.imul(key, 0x9e3779b1) >>> 20
}
