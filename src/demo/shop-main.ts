import { parseArgs } from 'node:util'
import { trimEndingSlashes } from '../lib/url.ts'
import { startShop } from './shop.ts'

/**
 * Entry point of the demo shop as a separate process. It prints one JSON line with its address when it is ready, and exits on
 * SIGTERM, on SIGINT, or when its parent process has exited.
 */
const { values } = parseArgs({
  options: {
    port: { type: 'string', default: '0' },
    url: { type: 'string' },
    'no-latency': { type: 'boolean', default: false },
  },
})

const publicUrl = values.url === undefined ? undefined : trimEndingSlashes(values.url)
const shop = await startShop({
  port: Number(values.port),
  latency: values['no-latency'] ? 'off' : 'on',
  ...(publicUrl === undefined ? {} : { fronted: true, publicUrls: { en: publicUrl, de: `${publicUrl}/de` } }),
})
const ready = {
  url: shop.url,
  channels: shop.channels.map(({ id, name, url, pages }) => ({ id, name, url, pages: pages.length })),
}
process.stdout.write(`${JSON.stringify(ready)}\n`)
process.send?.(ready)

async function stop(): Promise<void> {
  await shop.close()
  process.exit(0)
}
process.once('SIGTERM', stop)
process.once('SIGINT', stop)
process.once('disconnect', stop)
