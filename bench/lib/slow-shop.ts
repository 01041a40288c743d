/**
 * Program: a shop that takes 5 ms per page, with a sitemap of `paths`. Arguments: the URL of the shop, and the paths as JSON. Prints its
 * address and runs until it is killed.
 */
import { startOrigin } from '../../test/helpers/origin.ts'
import { pageHeaders, samplePage } from './page.ts'

const [url = '', paths = '[]'] = process.argv.slice(2)
const entries = (JSON.parse(paths) as string[]).map((path) => `<url><loc>${url}${path}</loc></url>`).join('')
const sitemap = `<?xml version="1.0"?><urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">${entries}</urlset>`
const gzip = { headers: { ...pageHeaders, 'content-encoding': 'gzip' }, body: samplePage().gzip }
const origin = await startOrigin()
origin.otherwise(async () => {
  await new Promise((resolve) => setTimeout(resolve, 5))
  return gzip
})
origin.on('/robots.txt', { status: 404 })
origin.on('/sitemap.xml', { headers: { 'content-type': 'application/xml' }, body: sitemap })
process.stdout.write(`${origin.url}\n`)
