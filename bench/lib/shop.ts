import { startOrigin, type Origin } from '../../test/helpers/origin.ts'
import { pageHeaders, samplePage } from './page.ts'

export const pagePath = '/category/shoes'

/** The origin: serves one page, gzipped for clients that accept it, and counts requests. */
export async function startSampleShop(): Promise<Origin> {
  const page = samplePage()
  const origin = await startOrigin()
  origin.on(pagePath, (request) =>
    /\bgzip\b/.test(request.headers['accept-encoding'] ?? '')
      ? { headers: { ...pageHeaders, 'content-encoding': 'gzip' }, body: page.gzip }
      : { headers: pageHeaders, body: page.identity },
  )
  return origin
}
