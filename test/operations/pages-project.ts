import { expect, onTestFinished } from 'vitest'
import { App } from '../../src/app.ts'
import { loadConfig } from '../../src/config/load.ts'
import type { PageDraft, PageType } from '../../src/pages/page.ts'
import { tempDir } from '../helpers/temp-dir.ts'

export async function openApp(projectDir: string): Promise<App> {
  const app = new App({ loaded: await loadConfig({ projectDir }, { variables: {} }), onWarning: () => {} })
  onTestFinished(() => app.close())
  return app
}

export async function store(app: App, type: PageType, path: string, more: Partial<PageDraft> = {}): Promise<void> {
  const pages = await app.pages()
  const now = app.now()
  const url = `http://shop.example${path}`
  const draft: PageDraft = {
    key: url,
    url,
    channelId: 'a',
    type,
    tags: [`tag-${type}`],
    status: 200,
    headers: [['Content-Type', 'text/html']],
    vary: {},
    states: [],
    cachedAt: now,
    initialAge: 0,
    lifetime: 60,
    staleWhileRevalidate: 0,
    staleIfError: 0,
    staleAllowed: true,
    noCache: false,
    staleAt: now + 60_000,
    deleteAt: now + 120_000,
    range: null,
    encoding: 'identity',
    originalSize: 1000,
    generationMs: 250,
    ...more,
  }
  expect(await pages.put(draft, Buffer.alloc(400, 'x'), pages.fence())).toHaveProperty('id')
}

export async function projectWithPages(): Promise<{ app: App; projectDir: string }> {
  const projectDir = await tempDir()
  const app = await openApp(projectDir)
  await store(app, 'products', '/p/1')
  await store(app, 'products', '/p/2')
  await store(app, 'cms', '/', { staleAt: app.now() - 1000, cachedAt: app.now() - 61_000 })
  return { app, projectDir }
}
