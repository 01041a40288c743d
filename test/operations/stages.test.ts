import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { App } from '../../src/app.ts'
import { loadConfig } from '../../src/config/load.ts'
import { allScopes, performOperation } from '../../src/operations/operation.ts'
import * as stages from '../../src/operations/stages.ts'
import { tempDir } from '../helpers/temp-dir.ts'
import { perform } from './perform.ts'

const channelId = '0190c0de-0000-7000-8000-000000000001'

async function openApp(config: object = {}): Promise<App> {
  const projectDir = await tempDir()
  const salesChannels = [
    { id: channelId, name: 'Storefront', url: 'http://shop.example', origin: 'http://127.0.0.1:9' },
  ]
  await writeFile(join(projectDir, 'pagecache.yaml'), JSON.stringify({ salesChannels, ...config }))
  const app = new App({ loaded: await loadConfig({ projectDir }, { variables: {} }), onWarning: () => {} })
  onTestFinished(() => app.close())
  return app
}

describe('a stage', () => {
  it('is made from a name, with the documented defaults', async () => {
    const { stage } = await perform(await openApp(), stages.createStage, { name: 'Sale' })
    expect(stage).toMatchObject({
      name: 'Sale',
      statsEnabled: true,
      retentionDays: 90,
      maxPerSession: null,
      frequency: 'always',
      salesChannelId: null,
      active: true,
      pageTypes: [],
    })
  })

  it('keeps what a change does not name', async () => {
    const app = await openApp()
    const { stage } = await perform(app, stages.createStage, {
      name: 'Sale',
      content: { headline: 'Summer', text: 'Now' },
      salesChannelId: channelId.toUpperCase().replaceAll('-', ''),
    })
    expect(stage.salesChannelId).toBe(channelId)
    const changed = await perform(app, stages.updateStage, {
      id: stage.id,
      retentionDays: 0,
      content: { html: '<p>Now</p>' },
    })
    expect(changed.stage).toMatchObject({
      name: 'Sale',
      retentionDays: 0,
      salesChannelId: channelId,
      content: { headline: 'Summer', text: null, html: '<p>Now</p>' },
    })
    expect((await perform(app, stages.showStage, { id: stage.id.toUpperCase() })).stage).toEqual(changed.stage)
    expect(await perform(app, stages.listStages, {})).toMatchObject({ total: 1, items: [{ id: stage.id }] })
  })

  it.each([
    [{ name: '' }, /name/],
    [{ name: 'x', retentionDays: -1 }, /retentionDays/],
    [{ name: 'x', retentionDays: 1.5 }, /retentionDays/],
    [{ name: 'x', maxPerSession: 0 }, /maxPerSession/],
    [{ name: 'x', frequency: 'often' }, /frequency: expected one of always/],
    [{ name: 'x', salesChannelId: 'none' }, /There is no sales channel with the id none/],
    [{ name: 'x', statsEnabled: 'yes' }, /statsEnabled/],
    [{ name: 'x', content: { html: '<p>', text: 'x' } }, /html or text/],
    [{ name: 'x', content: { callToAction: { label: 'Go', url: 'javascript:alert(1)' } } }, /callToAction.url/],
    [{ name: 'x', content: { callToAction: { label: 'Go', url: '/\\evil.example' } } }, /callToAction.url/],
    [{ name: 'x', content: { callToAction: { label: 'Go', url: '//evil.example' } } }, /callToAction.url/],
    [{ name: 'x', content: { callToAction: { label: 'Go', action: 'scroll' } } }, /selector/],
    [{ name: 'x', content: { callToAction: { action: 'close' } } }, /label/],
    [{ name: 'x', content: { dismissLabel: '' } }, /dismissLabel: expected a label/],
    [{ name: 'x', content: { closeLabel: '' } }, /closeLabel: expected a label/],
    [{ name: 'x', from: '2026-12-01T00:00' }, /^from: expected a time with its time zone/],
    [{ name: 'x', until: '2026-02-30T00:00Z' }, /^until: expected a time with its time zone/],
    [{ name: 'x', until: 1 }, /^until: /],
    [{ name: 'x', from: '2026-12-01T00:00+01:00', until: '2026-11-30T23:00Z' }, /^until: expected a time after from/],
    [{ name: 'x', look: { position: 'top' } }, /^look.position: expected one of centre/],
    [{ name: 'x', look: { accent: 'red' } }, /^look.accent/],
    [{ name: 'x', look: { accent: '#fff;}' } }, /^look.accent/],
    [{ name: 'x', look: { font: 'Inter;}body{display:none' } }, /^look.font/],
    [{ name: 'x', look: { font: 'url(//evil.example)' } }, /^look.font/],
    [{ name: 'x', look: { font: '"Inter' } }, /^look.font/],
    [{ name: 'x', look: { font: '' } }, /^look.font/],
    [{ name: 'x', look: { image: 'javascript:alert(1)' } }, /^look.image/],
    [{ name: 'x', look: { image: 'data:image/svg+xml,<svg/>' } }, /^look.image/],
    [{ name: 'x', look: { image: '//evil.example/a.png' } }, /^look.image/],
    [{ name: 'x', look: { image: '/\\evil.example/a.png' } }, /^look.image/],
    [{ name: 'x', look: { image: 'http://cdn.example/a.png' } }, /^look.image/],
    [{ name: 'x', look: { image: 'https://user:secret@cdn.example/a.png' } }, /^look.image/],
    [{ name: 'x', look: { image: 'a.png' } }, /^look.image/],
    [{ name: 'x', look: { image: '/a b.png' } }, /^look.image/],
    [{ name: 'x', trigger: { delay: 0 } }, /^trigger.delay/],
    [{ name: 'x', trigger: { scroll: 101 } }, /^trigger.scroll/],
    [{ name: 'x', trigger: { exitIntent: 'yes' } }, /^trigger.exitIntent/],
  ])('cannot be %j', async (input, message) => {
    await expect(perform(await openApp(), stages.createStage, input as { name: string })).rejects.toThrow(message)
  })

  it('has a time window, a look and triggers, stored in one form', async () => {
    const app = await openApp()
    const { stage } = await perform(app, stages.createStage, {
      name: 'Sale',
      from: '2026-12-01T00:00+01:00',
      look: { accent: '#ABC', font: `Inter, 'Open Sans',serif`, image: 'http://shop.example/a.png', position: 'bar' },
      trigger: { delay: 5 },
    })
    expect(stage).toMatchObject({
      from: '2026-11-30T23:00:00.000Z',
      until: null,
      look: {
        accent: '#aabbcc',
        font: '"Inter", "Open Sans", serif',
        position: 'bar',
        entrance: 'none',
        scheme: 'light',
      },
      trigger: { delay: 5, scroll: null, exitIntent: false },
    })
    const { stage: changed } = await perform(app, stages.updateStage, {
      id: stage.id,
      until: '2026-12-24T18:00Z',
      look: { scheme: 'auto' },
      trigger: { delay: null, exitIntent: true },
    })
    expect(changed).toMatchObject({
      from: stage.from,
      until: '2026-12-24T18:00:00.000Z',
      look: { ...stage.look, scheme: 'auto' },
      trigger: { delay: null, scroll: null, exitIntent: true },
    })
    const early = perform(app, stages.updateStage, { id: stage.id, until: '2026-11-30T23:00:00.000Z' })
    await expect(early).rejects.toThrow(/^until: expected a time after from/)
    expect((await perform(app, stages.showStage, { id: stage.id })).stage).toEqual(changed)
  })

  it('is copied with all its settings, under another name, and not active', async () => {
    const app = await openApp()
    const name = 'x'.repeat(200)
    const { stage } = await perform(app, stages.createStage, {
      name,
      salesChannelId: channelId,
      content: { html: '<p>Now</p>' },
      look: { position: 'sheet' },
      until: '2026-12-24T18:00Z',
    })
    const { stage: copy } = await perform(app, stages.duplicateStage, { id: stage.id })
    const own = { id: copy.id, name: `Copy of ${name}`.slice(0, 200), active: false }
    expect(copy).toEqual({ ...stage, ...own, createdAt: copy.createdAt, updatedAt: copy.updatedAt })
    expect(copy.id).not.toBe(stage.id)
    const named = await perform(app, stages.duplicateStage, { id: stage.id, name: 'Other' })
    expect(named.stage.name).toBe('Other')
    expect((await perform(app, stages.listStages, {})).total).toBe(3)
  })

  it('has links to pages of its channels that show it', async () => {
    const app = await openApp()
    const { stage } = await perform(app, stages.createStage, { name: 'Sale' })
    const { links } = await perform(app, stages.previewStage, { id: stage.id, path: '/shoes?size=42' })
    expect(links).toEqual([
      {
        salesChannelId: channelId,
        name: 'Storefront',
        url: expect.stringMatching(
          /^http:\/\/shop\.example\/shoes\?size=42#vendor-stage-preview=[\w-]+\.[\w-]+\.[\w-]+$/,
        ) as string,
      },
    ])
    for (const path of ['shoes', '//evil.example/', '/\\evil.example', '/a b', '/a#b'])
      await expect(perform(app, stages.previewStage, { id: stage.id, path })).rejects.toThrow(/^path: /)
  })

  it('with an image of another host is noted to need the permission of the shop', async () => {
    const app = await openApp()
    const notes: string[] = []
    for (const image of ['https://cdn.example/a.png', '/a.png', 'http://shop.example/a.png'])
      await performOperation(
        stages.createStage,
        {
          app,
          source: 'cli',
          actor: null,
          scopes: allScopes,
          signal: app.signal,
          report: (event) => event.kind === 'message' && notes.push(event.message),
        },
        { name: 'Sale', look: { image } },
      )
    expect(notes).toEqual([expect.stringMatching(/^The image is on https:\/\/cdn\.example: .*img-src/)])
  })

  it.each([
    ['<script>alert(1)</script><p>a</p>', '<p>a</p>'],
    ['<p onclick="alert(1)" style="position:fixed">a</p>', '<p>a</p>'],
    ['<a href="javascript:alert(1)">a</a>', '<a>a</a>'],
    ['<a href="JaVa\tScript:alert(1)">a</a>', '<a>a</a>'],
    ['<img src="x" onerror="alert(1)">', '<img src="x" />'],
    ['<img src="data:text/html,x">', '<img />'],
    [
      '<iframe src="/"></iframe><object></object><svg onload="x"><style>*{}</style></svg><form action="/x"><input></form>',
      '',
    ],
    ['<a href="/sale" target="_blank">a</a>', '<a href="/sale" target="_blank" rel="noopener noreferrer">a</a>'],
    ['<div data-action="url" data-target="/sale">a</div>', '<div data-action="url" data-target="/sale">a</div>'],
    [
      '<div data-action="url" data-target="javascript:alert(1)">a</div><span data-action="url" data-target="//evil.example">b</span>',
      '<div>a</div><span>b</span>',
    ],
    [
      '<img src="/a.png" alt="Sale" data-action="url" data-target="https://shop.example/sale"><p data-action="close">b</p>',
      '<img src="/a.png" alt="Sale" data-action="url" data-target="https://shop.example/sale" /><p data-action="close">b</p>',
    ],
    ['<div data-action="eval" data-target="alert(1)" role="button" tabindex="5" onclick="x">a</div>', '<div>a</div>'],
    [
      '<a data-action="scroll" data-target="#a" href="javascript:x" target="_blank">a</a>',
      '<a data-action="scroll" data-target="#a" target="_blank" rel="noopener noreferrer">a</a>',
    ],
    [
      '<button data-action="close" formaction="javascript:x">a</button>',
      '<button data-action="close" type="button">a</button>',
    ],
  ])('stores of %s what is harmless', async (html, stored) => {
    const { stage } = await perform(await openApp(), stages.createStage, { name: 'x', content: { html } })
    expect(stage.content.html).toBe(stored)
  })

  it('that there is not is NOT_FOUND, whatever is asked of it', async () => {
    const app = await openApp()
    const id = '0190c0de-0000-7000-8000-00000000000f'
    await expect(perform(app, stages.showStage, { id })).rejects.toMatchObject({ code: 'NOT_FOUND' })
    await expect(perform(app, stages.updateStage, { id, name: 'x' })).rejects.toMatchObject({ code: 'NOT_FOUND' })
    await expect(perform(app, stages.deleteStage, { id })).rejects.toMatchObject({ code: 'NOT_FOUND' })
    await expect(perform(app, stages.duplicateStage, { id })).rejects.toMatchObject({ code: 'NOT_FOUND' })
    await expect(perform(app, stages.previewStage, { id })).rejects.toMatchObject({ code: 'NOT_FOUND' })
    await expect(perform(app, stages.stageStatistics, { popupId: id })).rejects.toMatchObject({ code: 'NOT_FOUND' })
  })
})

describe('customer.delete', () => {
  it('says what was done, as the configuration has it', async () => {
    expect(await perform(await openApp(), stages.deleteCustomer, { customerId: 'c-1' })).toEqual({
      success: true,
      events: 0,
      mode: 'anonymize',
    })
    expect(
      await perform(await openApp({ stages: { customerDeletion: 'remove' } }), stages.deleteCustomer, {
        customerId: 'c-1',
      }),
    ).toMatchObject({ mode: 'remove' })
  })
})
