/** The most results that are kept. Their names may come from outside. */
const mostResults = 32

/** Remembers the last result of a few pure computations, each by its name. */
export class Memo {
  readonly #results = new Map<string, { inputs: readonly unknown[]; value: unknown }>()

  /**
   * The result of a computation, which runs again only when an input has changed.
   *
   * @param name of the computation, which always has the same type of result
   * @param inputs all that it depends on, apart from what stays the same as long as this memo exists
   */
  of<Value>(name: string, inputs: readonly unknown[], compute: () => Value): Value {
    const known = this.#results.get(name)
    if (known !== undefined && known.inputs.every((input, at) => input === inputs[at])) return known.value as Value
    const value = compute()
    if (this.#results.size >= mostResults) this.#results.clear()
    this.#results.set(name, { inputs, value })
    return value
  }
}
