/** The most results that are remembered, and the longest text in characters: clients choose the texts. */
const mostKnown = 500
const longestKnown = 256

/** Remembers the results of a pure function of a text, for texts that most requests or responses have in common. */
export function remembering<Value>(compute: (text: string) => Value): (text: string) => Value {
  const known = new Map<string, Value>()
  return (text) => {
    const found = known.get(text)
    if (found !== undefined) return found
    if (text.length > longestKnown) return compute(text)
    // A part of a larger text would keep all of that in memory.
    const own = Buffer.from(text, 'utf16le').toString('utf16le')
    const value = compute(own)
    if (known.size >= mostKnown) known.clear()
    known.set(own, value)
    return value
  }
}
