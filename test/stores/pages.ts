import { onTestFinished } from 'vitest'
import type { PageDraft } from '../../src/pages/page.ts'
import type { PageStore } from '../../src/pages/page-store.ts'
import { openFilesystemStore, type FilesystemStoreOptions } from '../../src/pages/filesystem-store.ts'
import { tempDir } from '../helpers/temp-dir.ts'

export const origin = 'http://shop.example'
export const aMoment = Date.UTC(2026, 0, 1)
const hour = 3_600_000

/** A page at `/<name>`, fresh for an hour. */
export function draft(name: string, changes: Partial<PageDraft> = {}): PageDraft {
  return {
    key: `GET ${origin}/${name}`,
    url: `${origin}/${name}`,
    channelId: 'c1',
    type: 'products',
    tags: [`product-${name}`, 'all-products'],
    status: 200,
    headers: [['content-type', 'text/html; charset=utf-8']],
    vary: {},
    states: [],
    cachedAt: aMoment,
    initialAge: 0,
    lifetime: 3_600,
    staleWhileRevalidate: 0,
    staleIfError: 0,
    staleAllowed: true,
    noCache: false,
    staleAt: aMoment + hour,
    deleteAt: aMoment + 24 * hour,
    range: null,
    encoding: 'identity',
    originalSize: 1_000,
    generationMs: 12.5,
    ...changes,
  }
}

export function bodyOf(name: string): Buffer {
  return Buffer.from(`<h1>${name}</h1>`)
}

/** Stores a page whose fetch begins now. */
export function store(pages: PageStore, name: string, changes: Partial<PageDraft> = {}) {
  return pages.put(draft(name, changes), bodyOf(name), pages.fence())
}

export interface Clock {
  now: () => number
  advance(milliseconds: number): void
}

export function clock(): Clock {
  let time = aMoment
  return {
    now: () => time,
    advance(milliseconds) {
      time += milliseconds
    },
  }
}

/** A store that is closed when the test is over; warnings are collected. */
export async function openPages(
  changes: Partial<FilesystemStoreOptions> = {},
): Promise<{ pages: PageStore; directory: string; warnings: string[] }> {
  const directory = changes.directory ?? (await tempDir())
  const warnings: string[] = []
  const pages = await openFilesystemStore({
    directory,
    maxSize: null,
    now: () => aMoment,
    onWarning: (message) => warnings.push(message),
    ...changes,
  })
  onTestFinished(() => pages.close())
  return { pages, directory, warnings }
}
