import { gzipSync } from 'node:zlib'

const pageBytes = 20_000
const words =
  'cart price size colour shoe coat linen wool blue green sale new shop basket delivery return gift summer winter store'.split(
    ' ',
  )

/** The page that every server serves: 20 kB of storefront HTML, about 5 kB with gzip, identical at each call. */
export function samplePage(): { identity: Buffer; gzip: Buffer } {
  let seed = 42
  const random = (below: number) => {
    seed = (Math.imul(seed, 1_103_515_245) + 12_345) >>> 0
    return (seed >>> 8) % below
  }
  const hash = () => Array.from({ length: 5 }, () => random(2 ** 24).toString(16)).join('')
  let html = '<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Category</title></head><body><main>\n'
  const end = '\n</main></body></html>\n'
  while (html.length < pageBytes - end.length) {
    const text = Array.from({ length: 12 }, () => words[random(words.length)]).join(' ')
    const [id, image] = [hash(), hash()]
    html += `<article class="product-box" data-id="${id}"><a href="/detail/${id}"><img src="/media/${image}.webp"><h3>${text}</h3></a><span class="price">${random(300)}.99 &euro;</span></article>\n`
  }
  const identity = Buffer.from(html.slice(0, pageBytes - end.length) + end)
  return { identity, gzip: gzipSync(identity, { level: 6 }) }
}

/** The response headers of such a page. */
export const pageHeaders = {
  'content-type': 'text/html; charset=UTF-8',
  'cache-control': 'public, max-age=3600',
  vary: 'Accept-Encoding',
} as const
