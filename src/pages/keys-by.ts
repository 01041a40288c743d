const none: readonly string[] = []

/** Keys by a label that an invalidation selects by, such as a tag or a URL. Most labels have one key, which needs no set. */
export class KeysBy<Label> {
  readonly #keys = new Map<Label, string | Set<string>>()

  get size(): number {
    return this.#keys.size
  }

  add(label: Label, key: string): void {
    const keys = this.#keys.get(label)
    if (keys === undefined) this.#keys.set(label, key)
    else if (typeof keys !== 'string') keys.add(key)
    else if (keys !== key) this.#keys.set(label, new Set([keys, key]))
  }

  delete(label: Label, key: string): void {
    const keys = this.#keys.get(label)
    if (keys === key) this.#keys.delete(label)
    else if (typeof keys === 'object' && keys.delete(key) && keys.size === 0) this.#keys.delete(label)
  }

  /** The keys of a label. They may be deleted while they are iterated. */
  of(label: Label): Iterable<string> {
    const keys = this.#keys.get(label)
    return typeof keys === 'string' ? [keys] : (keys ?? none)
  }

  labels(): Label[] {
    return [...this.#keys.keys()]
  }

  clear(): void {
    this.#keys.clear()
  }
}
