import { SaxesParser } from 'saxes'
import type { DiscoveryLimits } from './limits.ts'
import { SitemapError } from './sitemap-error.ts'

export interface SitemapListener {
  /** Called for a page, with its priority from 0 to 1 (0.5 if the file gives none). */
  onPage(loc: string, priority: number): void
  /** Called for a sitemap file that an index lists. */
  onSitemap(loc: string): void
}

type XmlLimits = Pick<DiscoveryLimits, 'elementDepth' | 'locLength' | 'tagDistance'>

const defaultPriority = 0.5

/**
 * Reads a sitemap or a sitemap index (sitemaps.org) as it arrives and keeps none of it in memory. A DOCTYPE is rejected, and with it
 * every entity except XML's predefined ones.
 *
 * @throws SitemapError if the file is no valid sitemap; entries reported before the error are valid
 */
export async function readSitemap(
  bytes: AsyncIterable<Buffer>,
  listener: SitemapListener,
  limits: XmlLimits,
): Promise<void> {
  const decoder = new TextDecoder()
  const entries = new EntryReader(listener, limits)
  for await (const chunk of bytes) entries.write(decoder.decode(chunk, { stream: true }))
  entries.write(decoder.decode())
  entries.end()
}

class EntryReader {
  readonly #listener: SitemapListener
  readonly #limits: XmlLimits
  readonly #parser = new SaxesParser({ position: false })
  readonly #open: string[] = []
  #sinceTag = 0
  #loc = ''
  #priority = ''

  constructor(listener: SitemapListener, limits: XmlLimits) {
    this.#listener = listener
    this.#limits = limits
    this.#parser.on('error', (error) => {
      throw new SitemapError(`is not well-formed XML: ${error.message}`, { hostile: true })
    })
    this.#parser.on('doctype', refuseDoctype)
    this.#parser.on('opentag', (tag) => this.#openTag(tag))
    this.#parser.on('closetag', (tag) => this.#closeTag(tag))
    this.#parser.on('text', (text) => this.#text(text))
    this.#parser.on('cdata', (text) => this.#text(text))
  }

  write(text: string): void {
    this.#sinceTag += text.length
    this.#parser.write(text)
    // The parser buffers a text, comment, attribute or DOCTYPE in memory until it ends.
    if (this.#sinceTag > this.#limits.tagDistance + text.length) {
      throw new SitemapError(`has ${this.#limits.tagDistance} characters without a tag`, { hostile: true })
    }
  }

  end(): void {
    if (this.#open.length > 0) throw new SitemapError('is truncated')
    this.#parser.close()
  }

  #openTag(tag: { name: string }): void {
    this.#sinceTag = 0
    const name = localName(tag.name)
    if (this.#open.length === 0 && name !== 'urlset' && name !== 'sitemapindex') {
      throw new SitemapError(`is not a sitemap: its root element is ${name.slice(0, 40)}`)
    }
    if (this.#open.length >= this.#limits.elementDepth) {
      throw new SitemapError(`nests elements more than ${this.#limits.elementDepth} deep`, { hostile: true })
    }
    this.#open.push(name)
    if (this.#open.length === 2) [this.#loc, this.#priority] = ['', '']
  }

  #closeTag(tag: { name: string }): void {
    this.#sinceTag = 0
    if (this.#open.length === 2) this.#entry(localName(tag.name))
    this.#open.pop()
  }

  #entry(name: string): void {
    const loc = this.#loc.trim()
    if (loc === '') return
    if (name === 'sitemap' && this.#open[0] === 'sitemapindex') this.#listener.onSitemap(loc)
    if (name === 'url' && this.#open[0] === 'urlset') this.#listener.onPage(loc, toPriority(this.#priority))
  }

  /** Reads direct children of an entry only: the location of an image or video is not a page. */
  #text(text: string): void {
    if (this.#open.length !== 3) return
    const maxLength = this.#limits.locLength + 1
    if (this.#open[2] === 'loc' && this.#loc.trim().length < maxLength)
      this.#loc = (this.#loc + text.slice(0, maxLength * 2)).trimStart()
    if (this.#open[2] === 'priority' && this.#priority.length < 20) this.#priority += text.slice(0, 20)
  }
}

function refuseDoctype(): never {
  throw new SitemapError('has a DOCTYPE, which no sitemap needs (is it an HTML page?)', { hostile: true })
}

function localName(name: string): string {
  return name.slice(name.indexOf(':') + 1)
}

function toPriority(text: string): number {
  const value = text.trim() === '' ? Number.NaN : Number(text)
  return Number.isNaN(value) ? defaultPriority : Math.min(1, Math.max(0, value))
}
