/** The most results that are remembered, and the longest text in characters: clients choose the texts. */
const mostKnown = 500
const longestKnown = 256
/** How many texts that came once are recognised, a power of two. */
const mostSeen = 1024

/**
 * Remembers the results of a pure function of a text, for texts that most requests or responses have in common. A text is remembered
 * when it comes for the second time: those that come once, such as a page's own tag, must not displace the others.
 */
export function remembering<Value>(compute: (text: string) => Value): (text: string) => Value {
  const known = new Map<string, Value>()
  const seen = new Int32Array(mostSeen)
  return (text) => {
    const found = known.get(text)
    if (found !== undefined) return found
    if (text.length > longestKnown) return compute(text)
    // A part of a larger text would keep all of that in memory.
    const own = Buffer.from(text, 'utf16le').toString('utf16le')
    const value = compute(own)
    const hash = hashOf(text)
    const slot = hash & (mostSeen - 1)
    if (seen[slot] === hash) {
      if (known.size >= mostKnown) known.clear()
      known.set(own, value)
    }
    seen[slot] = hash
    return value
  }
}

/** A text that happens to have the hash of another is remembered at once, which does no harm. */
function hashOf(text: string): number {
  let hash = 0
  for (let at = 0; at < text.length; at++) hash = (Math.imul(hash, 31) + text.charCodeAt(at)) | 0
  return hash
}
