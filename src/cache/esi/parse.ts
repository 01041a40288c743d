import { setImmediate as yieldToOthers } from 'node:timers/promises'

/** An `<esi:include>` of a page. `src` and `alt` are Latin-1, as request targets are. */
export interface Include {
  src: string
  alt: string | null
  /** `onerror="continue"`: the page is whole without it. */
  optional: boolean
}

/** The parts of a page in order: bytes that are sent as they are, and includes. */
type Piece = Buffer | Include

export interface Template {
  pieces: Piece[]
  /** Number of further includes, which were removed. */
  excess: number
}

/** Where markup begins. */
const markup = /<(\/?)esi:([a-z]*)|<!--esi(?=\s)/g
const attribute = /\s+([a-z]+)\s*=\s*(?:"([^"<>]*)"|'([^'<>]*)')/y
const tagEnd = /\s*\/?>/y
const commentEnd = '-->'
const removeEnd = '</esi:remove>'

/** The longest URL of an include, as of a request. A longer one is refused like any other that is not allowed. */
const longestUrl = 8192

/** Tags that are read before others get a turn: about a millisecond. */
const tagsAtOnce = 1_000

/**
 * Splits a page at its ESI 1.0 markup (https://www.w3.org/TR/esi-lang/): `<esi:include>`, `<esi:remove>`, `<esi:comment>`
 * and the comments around ESI markup. Tags that it does not know are removed, their contents stay. Takes time linear in
 * the size of the page, however many tags are left open, and at most once more its memory.
 *
 * @param most further includes are removed
 */
export async function parseTemplate(body: Buffer, most: number): Promise<Template> {
  const parser = new Parser(body, most)
  for (let tags = 1; parser.next(); tags++) if (tags % tagsAtOnce === 0) await yieldToOthers()
  return parser.template
}

class Parser {
  readonly template: Template = { pieces: [], excess: 0 }
  readonly #most: number
  readonly #body: Buffer
  /** One character per byte, so that positions in it are positions in the body. */
  readonly #text: string
  /** The bytes that are kept. Those from `#begun` to `#written` are in no piece yet. */
  readonly #out: Buffer
  #begun = 0
  #written = 0
  /** The position in the body up to which it was read. */
  #at = 0
  /** Where the comment around ESI markup ends that began last. */
  #commentEnd = -1
  #includes = 0
  readonly #found = new Map<string, number>()

  constructor(body: Buffer, most: number) {
    this.#body = body
    this.#most = most
    this.#text = body.toString('latin1')
    this.#out = Buffer.allocUnsafe(body.length)
  }

  /** Reads the next tag; false at the end of the page. */
  next(): boolean {
    markup.lastIndex = this.#at
    const match = markup.exec(this.#text)
    this.#keepUntil(match?.index ?? this.#body.length)
    if (match === null) this.#finishText()
    else this.#take(match)
    return match !== null
  }

  #take({ index, 0: found, 1: slash, 2: name }: RegExpExecArray): void {
    const after = index + found.length
    if (name === undefined) {
      const end = this.#find(commentEnd, after)
      if (end === -1) return this.#keepUntil(after)
      this.#commentEnd = end
      this.#at = after
      return
    }
    const { end, attributes } = this.#tag(after)
    this.#at = end
    if (slash === '' && name === 'remove') {
      const close = this.#find(removeEnd, end)
      if (close !== -1) this.#at = close + removeEnd.length
    }
    const src = attributes.get('src')
    if (slash === '' && name === 'include' && src !== undefined)
      this.#add({ src, alt: attributes.get('alt') ?? null, optional: attributes.get('onerror') === 'continue' })
  }

  #add(include: Include): void {
    this.#includes += 1
    if (this.#includes > this.#most) return void (this.template.excess += 1)
    this.#finishText()
    this.template.pieces.push(include)
  }

  /** The attributes of a tag and its end. A malformed tag ends where the next one begins, or at the end of the page. */
  #tag(start: number): { end: number; attributes: ReadonlyMap<string, string> } {
    const attributes = new Map<string, string>()
    attribute.lastIndex = start
    let end = start
    for (let match = attribute.exec(this.#text); match !== null; match = attribute.exec(this.#text)) {
      end = attribute.lastIndex
      const value = match[2] ?? match[3]!
      if (!attributes.has(match[1]!)) attributes.set(match[1]!, unescape(value.slice(0, longestUrl + 1)))
    }
    tagEnd.lastIndex = end
    if (tagEnd.test(this.#text)) return { end: tagEnd.lastIndex, attributes }
    return { end: this.#endOfMalformed(end), attributes: new Map() }
  }

  #endOfMalformed(from: number): number {
    const close = this.#find('>', from)
    const open = this.#find('<', from)
    if (close !== -1 && (open === -1 || close < open)) return close + 1
    return open === -1 ? this.#body.length : open
  }

  /** The first position of a text from a position on; -1 for none. Never searches the same bytes twice. */
  #find(text: string, from: number): number {
    const known = this.#found.get(text)
    if (known !== undefined && (known === -1 || known >= from)) return known
    const found = this.#text.indexOf(text, from)
    this.#found.set(text, found)
    return found
  }

  /** Keeps the bytes up to a position, without the end of a comment around markup. */
  #keepUntil(end: number): void {
    if (this.#at <= this.#commentEnd && this.#commentEnd < end) {
      this.#copy(this.#commentEnd)
      this.#at += commentEnd.length
    }
    this.#copy(end)
  }

  #copy(end: number): void {
    this.#written += this.#body.copy(this.#out, this.#written, this.#at, end)
    this.#at = end
  }

  #finishText(): void {
    if (this.#written > this.#begun) this.template.pieces.push(this.#out.subarray(this.#begun, this.#written))
    this.#begun = this.#written
  }
}

const entities: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'", '#39': "'" }

function unescape(value: string): string {
  return value.replace(/&(amp|lt|gt|quot|apos|#39);/g, (_, name: string) => entities[name]!)
}
