import { hash, hkdfSync } from 'node:crypto'
import type { PageDraft } from '../../pages/page.ts'
import { variantOf } from '../../pages/page-row.ts'

/** Keys of Redis. All variants of a URL are fields of one hash, so that they are deleted and evicted together. */
export interface Names {
  /** Seals values. */
  secret: Buffer
  /** The hash of a URL's pages. */
  pages(url: string): string
  /** The lock of the node that fetches a page. */
  lock(key: string): string
  /** Counters for operators. */
  counters: string
}

/** @param shared the secret of all nodes. Installations with different secrets do not meet in one Redis. */
export function namesOf(shared: Buffer): Names {
  const derive = (purpose: string, bytes: number) =>
    Buffer.from(hkdfSync('sha256', shared, Buffer.alloc(0), `pagecache shared pages, ${purpose}`, bytes))
  const prefix = `pagecache:${derive('names', 6).toString('hex')}`
  return {
    secret: derive('seal', 32),
    pages: (url) => `${prefix}:pages:${short(url)}`,
    lock: (key) => `${prefix}:lock:${short(key)}`,
    counters: `${prefix}:counters`,
  }
}

/** The field of a value in the hash of its URL. */
export function fieldOf(name: string): string {
  return short(name)
}

/** What a page is stored as: its key, for a page with variants by Vary together with the values that select it. */
export function nameOf({ key, vary }: Pick<PageDraft, 'key' | 'vary'>): string {
  return Object.keys(vary).length === 0 ? key : `${key}\n\n${variantOf({ vary, range: null })}`
}

function short(text: string): string {
  return hash('sha256', text, 'base64url').slice(0, 22)
}
