import { startOrigin, type Origin } from '../../test/helpers/origin.ts'
import { pageHeaders, samplePage } from './page.ts'

export const pagePath = '/category/shoes'

/** The origin of a comparison: one page, gzip for whom accepts it, and a count of how often it was asked. */
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
