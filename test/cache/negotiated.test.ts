import { describe, expect, it, onTestFinished } from 'vitest'
import type { OriginRequest, Reply } from './scripted-origin.ts'
import { isHit, openSite } from './site.ts'

const shared = { 'Cache-Control': 'public, s-maxage=60' }

async function open(answers: (request: OriginRequest) => Reply) {
  const site = await openSite()
  onTestFinished(() => site.close())
  site.answers(answers)
  return (accept: string | null = null) =>
    site.visit('/p', { long: true, fields: accept === null ? {} : { Accept: accept } })
}

/** A shop that negotiates by weight, then by order, in every format, without Vary. */
function negotiates({ fields }: OriginRequest): Reply {
  const types = (fields.get('accept') ?? '*/*')
    .split(',')
    .map((element) => element.split(';').map((part) => part.trim().toLowerCase()))
    .map(([type = '', ...rest]) => ({ type, q: Number(rest.find((part) => part.startsWith('q='))?.slice(2) ?? 1) }))
    .toSorted((one, other) => other.q - one.q)
  const { type } = types[0]!
  const asHtml = type === '*/*' || type === '' || type.includes('html')
  return {
    fields: { ...shared, 'Content-Type': asHtml ? 'text/html' : type.replace('*', 'x') },
    body: asHtml ? 'page' : `${type} for the page`,
  }
}

const chrome =
  'text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,image/apng,*/*;q=0.8,application/signed-exchange;v=b3;q=0.7'

describe('an Accept that no browser sends leaves HTML alone', () => {
  it.each([
    'application/json',
    'application/xml, text/html, */*',
    'application/xml,text/html,*/*;q=0.1',
    'application/xhtml+xml;q=0.1,application/xml,text/html;q=0.2,*/*',
    'text/xml,text/html,*/*',
    'image/png, text/html, */*',
    'image/*, text/html, */*',
    'image/*,*/*',
    'image/webp,*/*',
    'image/svg+xml,*/*',
    'application/signed-exchange,*/*',
    'application/signed-exchange;v=b3,text/html,*/*',
    'video/*,*/*',
    'audio/*, text/html,*/*',
    'font/*,*/*',
    'text/*, */*',
    'text/css, */*',
    'text/css,*/*;q=0.2',
    'text/javascript,*/*',
    'application/javascript, */*',
    'text/html;q=0.0,application/xml,*/*',
    'application/xml;q=0.9,text/html;q=0.8,*/*;q=0.7',
    `application/xml,${chrome}`,
    'text/html,application/xhtml+xml,application/xml,*/*;q=0.8,application/json;q=3',
  ])('%s', async (accept) => {
    const visit = await open(negotiates)
    await visit(accept)
    expect((await visit()).text).toBe('page')
    expect((await visit(chrome)).text).toBe('page')
    expect(isHit(await visit())).toBe(true)
  })
})

const chromeImage = 'image/avif,image/webp,image/apng,image/svg+xml,image/*,*/*;q=0.8'
const safariImage =
  'image/webp,image/avif,image/jxl,image/heic,image/heic-sequence,video/*;q=0.8,image/png,image/svg+xml,image/*;q=0.8,*/*;q=0.5'

it.each<[string, string | null, string, boolean]>([
  ['an image', chromeImage, 'image/webp', true],
  ['an SVG', chromeImage, 'image/svg+xml; charset=utf-8', true],
  ['an image for Chromium with JPEG XL', `image/jxl,${chromeImage}`, 'image/png', true],
  ['an image for Firefox', 'image/avif,image/webp,image/png,image/svg+xml,image/*;q=0.8,*/*;q=0.5', 'image/png', true],
  ['an image for Safari', safariImage, 'image/jpeg', true],
  ['an image with spaces', chromeImage.replaceAll(',', ', '), 'image/jpeg', true],
  ['a style', 'text/css,*/*;q=0.1', 'text/css', true],
  ['a script', '*/*', 'text/javascript', true],
  ['data for fetch', '*/*', 'application/json', true],
  ['a font', '*/*', 'font/woff2', true],
  ['a download', chrome, 'application/pdf', true],
  [
    'a download for Chromium with JPEG XL',
    chrome.replace('image/avif', 'image/jxl,image/avif'),
    'application/pdf',
    true,
  ],
  ['a film', 'video/webm,video/ogg,video/*;q=0.9,application/ogg;q=0.7,audio/*;q=0.6,*/*;q=0.5', 'video/mp4', true],
  ['no Accept', null, 'application/json', true],
  ['HTML for a robot', 'application/xml, text/html;q=0.1', 'text/html', true],
  ['data for an image', chromeImage, 'application/json', false],
  ['data for a style', 'text/css,*/*;q=0.1', 'application/json', false],
])('%s: stored or not, as browsers ask for it', async (_, accept, type, stored) => {
  const visit = await open(() => ({ fields: { ...shared, 'Content-Type': type }, body: 'data' }))
  await visit(accept)
  expect(isHit(await visit())).toBe(stored)
})
