/**
 * Reads something at most once in a turn of the event loop. What is answered in a turn had arrived when it began, so that nobody who
 * has heard of a change can be answered from before it.
 */
export function oncePerTurn<T>(read: () => T): () => T {
  let known: { value: T } | null = null
  return () => {
    if (known !== null) return known.value
    const value = read()
    known = { value }
    setImmediate(() => {
      known = null
    })
    return value
  }
}
