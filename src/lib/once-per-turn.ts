/**
 * Caches a read for one turn of the event loop. Requests answered in a turn arrived before it began, so none of them
 * can depend on a change that the read misses.
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
