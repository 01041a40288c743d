import { createRequire } from 'node:module'

// The build removes this line: bundled, `require` runs the library at its first call (`lazyWidth` in scripts/build.js).
const require = createRequire(import.meta.url)

/** Letters of Western languages, one cell each. */
const narrow = /^[\u0020-\u007e\u00a1-\u00ac\u00ae-\u02ff]*$/

/**
 * Width of a text on a terminal, in cells. The library takes 20 ms of processor time to load, so only texts with other letters load it.
 */
export function cells(text: string): number {
  if (narrow.test(text)) return text.length
  const { default: stringWidth } = require('string-width') as { default(text: string): number }
  return stringWidth(text)
}
