import { randomInt } from 'node:crypto'

/** Each part grows by itself, so that growth never takes longer than a few hundred microseconds. */
const parts = 256
const smallestPart = 16
const growth = 1.5
/** The fullest that a part becomes; with `growth`, an entry takes 5 to 7.5 bytes. */
const fullest = 0.8
/** How far from its place an entry may be. When that does not suffice, the part grows, unless it would be emptier than `sparse`. */
const farthest = 128
const sparse = 1 / 8

/** A part in which too many entries want the same places: it answers "perhaps" to every number. */
const everything = new Uint32Array()
const nothing = new Uint32Array(1)

/**
 * A set of numbers below 2^48 that answers "surely not" or "perhaps", because it keeps 32 bits of each. They are mixed with a secret, so that
 * clients who choose the numbers cannot make it slow. No number is ever removed.
 */
export class HashSet {
  readonly #parts: Uint32Array[] = Array.from({ length: parts }, () => nothing)
  readonly #counts = new Uint32Array(parts)
  readonly #mix: (value: number) => number
  #size = 0

  /** @param mix turns a number into 32 bits that are spread evenly */
  constructor(mix: (value: number) => number = secretMix()) {
    this.#mix = mix
  }

  /** How many different entries it has. */
  get size(): number {
    return this.#size
  }

  /** Bytes of the entries and of the room for more. */
  get bytes(): number {
    return this.#parts.reduce((sum, part) => sum + (part === nothing ? 0 : part.byteLength), 0)
  }

  /** False if the number was surely not added. */
  mayHave(value: number): boolean {
    const hash = this.#mix(value)
    const part = this.#parts[hash >>> 24]!
    if (part === everything) return true
    const entry = entryOf(hash)
    let at = placeOf(entry, part.length)
    for (let steps = 0; steps < farthest; steps++) {
      if (part[at] === 0) return false
      if (part[at] === entry) return true
      if (++at === part.length) at = 0
    }
    return false
  }

  add(value: number): void {
    const hash = this.#mix(value)
    const number = hash >>> 24
    if (this.#parts[number] === nothing) this.#parts[number] = new Uint32Array(smallestPart)
    while (true) {
      const part = this.#parts[number]!
      if (part === everything) return
      const put = putInto(part, entryOf(hash))
      if (put === 'known') return
      if (put === 'added') {
        this.#size += 1
        if (++this.#counts[number]! > part.length * fullest) this.#grow(number)
        return
      }
      this.#grow(number)
    }
  }

  #grow(number: number): void {
    const old = this.#parts[number]!
    for (let length = old.length; this.#counts[number]! >= length * sparse;) {
      length = Math.ceil(length * growth)
      const grown = new Uint32Array(length)
      if (!old.every((entry) => entry === 0 || putInto(grown, entry) === 'added')) continue
      this.#parts[number] = grown
      return
    }
    this.#parts[number] = everything
  }
}

/** Zero marks a free place. */
function entryOf(hash: number): number {
  return hash === 0 ? 1 : hash
}

/** The order of the entries is that of their places, whatever the size of the part. */
function placeOf(entry: number, size: number): number {
  return Math.floor(((entry & 0xffffff) / 0x1000000) * size)
}

function putInto(part: Uint32Array, entry: number): 'added' | 'known' | 'crowded' {
  let at = placeOf(entry, part.length)
  const steps = Math.min(farthest, part.length)
  for (let step = 0; step < steps; step++) {
    if (part[at] === entry) return 'known'
    if (part[at] === 0) {
      part[at] = entry
      return 'added'
    }
    if (++at === part.length) at = 0
  }
  return 'crowded'
}

function secretMix(): (value: number) => number {
  const one = randomInt(2 ** 32)
  const two = randomInt(2 ** 32)
  return (value) => {
    let mixed = Math.imul((value / 0x1000000) ^ one, 0x9e3779b1)
    mixed = Math.imul(mixed ^ (mixed >>> 15) ^ (value & 0xffffff) ^ two, 0x85ebca6b)
    mixed = Math.imul(mixed ^ (mixed >>> 13), 0xc2b2ae35)
    return (mixed ^ (mixed >>> 16)) >>> 0
  }
}
