export type BareItem = number | string | boolean

/**
 * Parses a Dictionary (RFC 9651 §3.2) whose members are Items; inner lists and parameters are skipped. Null for a
 * malformed field, which must be ignored as a whole.
 */
export function parseDictionary(text: string): Map<string, BareItem> | null {
  const reader = new Reader(text)
  const members = new Map<string, BareItem>()
  reader.skip(/ */y)
  if (reader.done()) return members
  for (;;) {
    const key = reader.take(/[a-z*][a-z0-9_\-.*]*/y)
    if (key === null) return null
    const value = reader.take(/=/y) === null ? true : readMember(reader)
    if (value === null || !skipParameters(reader)) return null
    members.delete(key)
    members.set(key, value)
    reader.skip(/[ \t]*/y)
    if (reader.done()) return members
    if (reader.take(/,/y) === null) return null
    reader.skip(/[ \t]*/y)
    if (reader.done()) return null
  }
}

function readMember(reader: Reader): BareItem | null {
  if (reader.take(/\(/y) === null) return readItem(reader)
  for (;;) {
    reader.skip(/ */y)
    if (reader.take(/\)/y) !== null) return true
    if (readItem(reader) === null || !skipParameters(reader)) return null
  }
}

function readItem(reader: Reader): BareItem | null {
  const decimal = reader.take(/-?\d{1,12}\.\d{1,3}(?![\d.])/y)
  if (decimal !== null) return `${decimal}`
  const integer = reader.take(/-?\d{1,15}(?![\d.])/y)
  if (integer !== null) return Number(integer)
  const string = reader.take(/"(?:[ !#-[\]-~]|\\["\\])*"/y)
  if (string !== null) return string.slice(1, -1).replace(/\\(.)/g, '$1')
  const flag = reader.take(/\?[01]/y)
  if (flag !== null) return flag === '?1'
  return (
    reader.take(/[a-z*][!#$%&'*+\-.^_`|~0-9a-z:/]*/iy) ?? reader.take(/:[a-z0-9+/=]*:/iy) ?? reader.take(/@-?\d{1,15}/y)
  )
}

function skipParameters(reader: Reader): boolean {
  while (reader.take(/;/y) !== null) {
    reader.skip(/ */y)
    if (reader.take(/[a-z*][a-z0-9_\-.*]*/y) === null) return false
    if (reader.take(/=/y) !== null && readItem(reader) === null) return false
  }
  return true
}

class Reader {
  readonly #text: string
  #position = 0

  constructor(text: string) {
    this.#text = text
  }

  take(pattern: RegExp): string | null {
    pattern.lastIndex = this.#position
    const match = pattern.exec(this.#text)
    if (match === null) return null
    this.#position = pattern.lastIndex
    return match[0]
  }

  skip(pattern: RegExp): void {
    this.take(pattern)
  }

  done(): boolean {
    return this.#position >= this.#text.length
  }
}
