import { trimBlanks } from './fields.ts'

export type ByteRange = { start: number; end: number }

/** Blanks within a word or a number; elsewhere they are ignored. */
const blanksInside = /\w[\t ]+\w/

/**
 * The single byte range of a request (RFC 9110 §14.1.2). Null when the whole body is sent instead: no range, another
 * unit, several ranges, or malformed. 'unsatisfiable' becomes a 416.
 */
export function parseRange(header: string | null, size: number): ByteRange | 'unsatisfiable' | null {
  const text = header ?? ''
  const match = blanksInside.test(text) ? null : /^bytes=(\d*)-(\d*)$/i.exec(text.replace(/[\t ]/g, ''))
  if (match === null || (match[1] === '' && match[2] === '')) return null
  if (match[1] === '') {
    const suffix = Number(match[2])
    if (suffix === 0) return 'unsatisfiable'
    // The last bytes of an empty body can be had, but no Content-Range can name them (RFC 9110 §14.1.2).
    if (size === 0) return null
    return { start: Math.max(0, size - suffix), end: size - 1 }
  }
  const start = Number(match[1])
  const end = match[2] === '' ? size - 1 : Math.min(Number(match[2]), size - 1)
  if (match[2] !== '' && Number(match[2]) < start) return null
  return start >= size ? 'unsatisfiable' : { start, end }
}

/** Content-Range of a 206 with one range and a known total; null for anything else. */
export function parseContentRange(header: string | null): { start: number; end: number; total: number } | null {
  const match = /^bytes (\d+)-(\d+)\/(\d+)$/i.exec(trimBlanks(header ?? ''))
  if (match === null) return null
  const range = { start: Number(match[1]), end: Number(match[2]), total: Number(match[3]) }
  return range.start <= range.end && range.end < range.total ? range : null
}
