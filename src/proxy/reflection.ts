import type { HeaderPair } from '../pages/page.ts'

/** Shorter values appear on any page by chance. */
const shortestTelling = 6

/** Fields of a fixed grammar: what stands in them was not taken from a visitor. */
const grammatical = new Set(['cache-control', 'cdn-cache-control', 'vary', 'content-type', 'content-encoding', 'content-length', 'date', 'expires', 'last-modified', 'age', 'accept-ranges'])

/**
 * The name of a request field outside the key whose value stands in the response; null where none does. What one visitor sent
 * must not become everybody's page: web caches are poisoned through fields that a shop reflects.
 */
export function reflectedField(sent: readonly HeaderPair[], headers: readonly HeaderPair[], body: Buffer): string | null {
  const head = headers.filter(([name]) => !grammatical.has(name.toLowerCase())).map(([, value]) => value).join('\n')
  for (const [name, value] of sent) {
    if (value.length < shortestTelling) continue
    for (const form of spellings(value)) {
      if (head.includes(form) || body.includes(form, 0, 'latin1')) return name
    }
  }
  return null
}

/** A value as a page may spell it: as it is, escaped for HTML, escaped for a URL. */
function spellings(value: string): Set<string> {
  const html = value.replace(/[&<>"']/g, char => `&${{ '&': 'amp', '<': 'lt', '>': 'gt', '"': 'quot', "'": '#039' }[char]!};`)
  return new Set([value, html, encodeURIComponent(value)])
}
