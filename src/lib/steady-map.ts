/** Entries that keep the table large. V8 makes a table smaller when less than a quarter of it is in use. */
const placeholders = 256

/**
 * A map whose entries come and go within milliseconds, in the order in which they were added. V8 gives a `Map` with few entries a new table at
 * almost every deletion. The old table still refers to the new one and to all entries, so once one table has become old,
 * the garbage collector of the young generation takes all that follow for alive (docs/decisions/0148-tables-of-maps.md). This map gets a new table every few hundred entries.
 */
export class SteadyMap<Key, Value> {
  readonly #map = new Map<Key | symbol, Value>()

  constructor() {
    this.clear()
  }

  get size(): number {
    return this.#map.size - placeholders
  }

  get(key: Key): Value | undefined {
    return this.#map.get(key)
  }

  has(key: Key): boolean {
    return this.#map.has(key)
  }

  set(key: Key, value: Value): void {
    this.#map.set(key, value)
  }

  delete(key: Key): boolean {
    return this.#map.delete(key)
  }

  clear(): void {
    this.#map.clear()
    for (let n = 0; n < placeholders; n++) this.#map.set(Symbol(), undefined as Value)
  }

  *entries(): Generator<[Key, Value]> {
    if (this.size === 0) return
    let at = 0
    for (const entry of this.#map) if ((at += 1) > placeholders) yield entry as [Key, Value]
  }

  *values(): Generator<Value> {
    if (this.size === 0) return
    let at = 0
    for (const value of this.#map.values()) if ((at += 1) > placeholders) yield value
  }
}

/** A set whose items come and go within milliseconds; see `SteadyMap`. */
export class SteadySet<Item> {
  readonly #map = new SteadyMap<Item, true>()

  get size(): number {
    return this.#map.size
  }

  has(item: Item): boolean {
    return this.#map.has(item)
  }

  add(item: Item): void {
    this.#map.set(item, true)
  }

  delete(item: Item): boolean {
    return this.#map.delete(item)
  }

  *[Symbol.iterator](): Generator<Item> {
    for (const [item] of this.#map.entries()) yield item
  }
}
