interface Trouble {
  from: number
  to: number
}

/**
 * When each node was in trouble: disturbed by the check, or slow or without a lease as its visitors saw it. Only then may a purge name it
 * as unconfirmed.
 */
export class Troubles {
  readonly #troubles = new Map<string, Trouble[]>()
  readonly #now: () => number

  constructor(now: () => number) {
    this.#now = now
  }

  /** Begins one, and returns the function that ends it. */
  begin(node: string): () => void {
    const trouble = { from: this.#now(), to: Infinity }
    this.#of(node).push(trouble)
    return () => (trouble.to = this.#now())
  }

  /** Notes one that lasted from a time until now. */
  saw(node: string, from: number): void {
    const all = this.#of(node)
    const last = all.at(-1)
    if (last !== undefined && last.to !== Infinity && last.to >= from) last.to = this.#now()
    else all.push({ from, to: this.#now() })
  }

  /** Whether the node was in trouble at any time between two. */
  between(node: string, from: number, to: number): boolean {
    return this.#of(node).some((trouble) => trouble.from <= to && trouble.to >= from)
  }

  #of(node: string): Trouble[] {
    let all = this.#troubles.get(node)
    if (all === undefined) this.#troubles.set(node, (all = []))
    return all
  }
}
