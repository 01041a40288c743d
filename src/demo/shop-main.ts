import { parseArgs } from 'node:util'
import { trimEndingSlashes } from '../lib/url.ts'
import { startShop } from './shop.ts'
import { shopwareVersions } from './shopware.ts'

/**
 * Entry point of the demo shop as a separate process. It prints one JSON line with its address when it is ready, and exits on
 * SIGTERM, on SIGINT, or when its parent process has exited.
 */
const { values } = parseArgs({
  options: {
    host: { type: 'string', default: '127.0.0.1' },
    port: { type: 'string', default: '0' },
    url: { type: 'string' },
    shopware: { type: 'string', default: '6.7' },
    purge: { type: 'string', multiple: true, default: [] },
    'purge-interval': { type: 'string' },
    'admin-token': { type: 'string' },
    'no-latency': { type: 'boolean', default: false },
  },
})

const version = shopwareVersions.find((each) => each === values.shopware)
if (version === undefined) {
  process.stderr.write(`--shopware: expected one of ${shopwareVersions.join(', ')}, not ${values.shopware}\n`)
  process.exit(2)
}
const publicUrl = values.url === undefined ? undefined : trimEndingSlashes(values.url)
const shop = await startShop({
  host: values.host,
  port: Number(values.port),
  latency: values['no-latency'] ? 'off' : 'on',
  version,
  reverseProxies: values.purge,
  purgeInterval: values['purge-interval'] === undefined ? null : Number(values['purge-interval']) * 1000,
  adminToken: values['admin-token'] ?? null,
  onError: (message) => void process.stderr.write(`${message}\n`),
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
