import { randomInt } from 'node:crypto'
import { hashText } from '../lib/hash-text.ts'

/** An entry of one of the two queues. */
interface Node<Value> {
  readonly key: string
  /** See `Departed.hashOf`. */
  readonly hashed: number
  value: Value
  size: number
  /** Uses since it entered its queue, up to `mostUses`. */
  uses: number
  queue: Queue<Value>
  newer: Node<Value> | null
  older: Node<Value> | null
}

/** The share of the capacity that new entries may take. */
const freshShare = 0.1
/** Uses beyond these do not protect an entry longer. */
const mostUses = 3

export interface FifoCacheOptions<Value> {
  /** The largest sum of sizes. */
  capacity: number
  sizeOf(value: Value, key: string): number
  /** Called with an entry that left the cache, but not with a value that `set` replaced. */
  onLeave(value: Value, key: string): void
}

/**
 * A map bounded by the sizes of its values. A new entry is added only while new ones take less than their share. Otherwise its key is
 * remembered, and it is added once it is offered again: entries that are used once, such as a crawler's, displace nothing. Of the others,
 * the oldest that has not been used is evicted. A use is one increment; nothing is reordered.
 */
export class FifoCache<Value> {
  readonly #options: FifoCacheOptions<Value>
  readonly #nodes = new Map<string, Node<Value>>()
  readonly #fresh = new Queue<Value>()
  readonly #proven = new Queue<Value>()
  readonly #departed = new Departed()

  constructor(options: FifoCacheOptions<Value>) {
    this.#options = options
  }

  /** The value, marked as used. Allocates nothing. */
  get(key: string): Value | undefined {
    const node = this.#nodes.get(key)
    if (node === undefined) return undefined
    if (node.uses < mostUses) node.uses += 1
    return node.value
  }

  /** The value, not marked as used. */
  peek(key: string): Value | undefined {
    return this.#nodes.get(key)?.value
  }

  /** Adds a value, unless it is new and not wanted yet, or replaces one. A value above the capacity is not kept, nor is the one it replaces. */
  set(key: string, value: Value): void {
    const { capacity, sizeOf } = this.#options
    const size = sizeOf(value, key)
    const known = this.#nodes.get(key)
    if (size > capacity) return void (known !== undefined && this.#remove(known))
    const node = known ?? this.#create(key, value, size)
    if (node === null) return
    // In neither queue meanwhile, so that it does not evict itself.
    if (known !== undefined) node.queue.take(node)
    while (this.size + size > capacity) this.#evict()
    node.value = value
    node.size = size
    node.queue.push(node)
  }

  /** Null for a new entry that would evict another, or exceed the share of new ones; it is wanted when it is offered again. */
  #create(key: string, value: Value, size: number): Node<Value> | null {
    const { capacity } = this.#options
    const hashed = this.#departed.hashOf(key)
    const returns = this.#departed.take(hashed)
    if (!returns && (this.size + size > capacity || this.#fresh.size > capacity * freshShare)) {
      this.#departed.add(hashed, this.#mostDeparted)
      return null
    }
    const queue = returns ? this.#proven : this.#fresh
    const node = { key, hashed, value, size: 0, uses: 0, queue, newer: null, older: null }
    this.#nodes.set(key, node)
    return node
  }

  /** Removes an entry. A proven one that is added again, such as a purged page, does not have to prove itself again. */
  delete(key: string): void {
    const node = this.#nodes.get(key)
    if (node === undefined) return
    if (node.queue === this.#proven || node.uses > 0) this.#departed.add(node.hashed, this.#mostDeparted)
    this.#remove(node)
  }

  /** Removes all entries without calling `onLeave`. */
  clear(): void {
    this.#nodes.clear()
    this.#fresh.clear()
    this.#proven.clear()
    this.#departed.clear()
  }

  /** The sum of sizes. */
  get size(): number {
    return this.#fresh.size + this.#proven.size
  }

  /** As many as there would be entries if the cache were full: what returns within that many fits into it. */
  get #mostDeparted(): number {
    return this.size === 0 ? 1 : Math.ceil((this.#nodes.size * this.#options.capacity) / this.size)
  }

  *values(): Generator<Value> {
    for (const { value } of this.#nodes.values()) yield value
  }

  /**
   * Evicts the oldest entry, new ones first, or gives it another turn if it was used. Each use pays for one turn, so the cost per
   * `set` is bounded however many entries are in use.
   */
  #evict(): void {
    const isFresh = this.#fresh.oldest !== null
    const node = (this.#fresh.oldest ?? this.#proven.oldest)!
    if (node.uses > 0) {
      node.queue.take(node)
      node.uses = isFresh ? 0 : node.uses - 1
      node.queue = this.#proven
      this.#proven.push(node)
      return
    }
    if (isFresh) this.#departed.add(node.hashed, this.#mostDeparted)
    this.#remove(node)
  }

  #remove(node: Node<Value>): void {
    node.queue.take(node)
    this.#nodes.delete(node.key)
    this.#options.onLeave(node.value, node.key)
  }
}

/** Entries from the oldest to the newest. */
class Queue<Value> {
  oldest: Node<Value> | null = null
  #newest: Node<Value> | null = null
  /** The sum of the entries' sizes. */
  size = 0

  push(node: Node<Value>): void {
    node.older = this.#newest
    node.newer = null
    if (this.#newest === null) this.oldest = node
    else this.#newest.newer = node
    this.#newest = node
    this.size += node.size
  }

  take(node: Node<Value>): void {
    if (node.older === null) this.oldest = node.newer
    else node.older.newer = node.newer
    if (node.newer === null) this.#newest = node.older
    else node.newer.older = node.older
    this.size -= node.size
  }

  clear(): void {
    this.oldest = null
    this.#newest = null
    this.size = 0
  }
}

/**
 * Remembers which keys left last, or were offered and not added. Keys are kept as hashes: visitors choose their length. A key
 * that has the hash of another is taken for one that returns, which is no more than a second request achieves.
 */
class Departed {
  readonly #hashes = new Set<number>()
  /** Where the oldest is. A new iterator would pass over all that have left since the table was last compacted. */
  #oldest = this.#hashes.values()
  readonly #seed = randomInt(1, 2 ** 32 - 1)

  add(hashed: number, most: number): void {
    while (this.#hashes.size >= Math.max(1, most)) this.#forgetOldest()
    this.#hashes.add(hashed)
  }

  /** What the iterator has passed is not among the hashes any more. */
  #forgetOldest(): void {
    let next = this.#oldest.next()
    if (next.done === true) next = (this.#oldest = this.#hashes.values()).next()
    this.#hashes.delete(next.value!)
  }

  /** Whether the key is remembered, and forgets it. */
  take(hashed: number): boolean {
    return this.#hashes.delete(hashed)
  }

  clear(): void {
    this.#hashes.clear()
  }

  /** The key as the other methods take it: V8 keeps numbers of 31 bits without an object for each. */
  hashOf(key: string): number {
    return hashText(key, this.#seed)[1] & 0x3fffffff
  }
}
