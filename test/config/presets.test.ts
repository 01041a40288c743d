import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { parse } from 'zod/mini'
import { loadConfig, type ConfigFlags } from '../../src/config/load.ts'
import { configTemplate } from '../../src/config/template.ts'
import { findDaemon, withDaemonsFlags } from '../../src/config/running-daemon.ts'
import { DaemonFile } from '../../src/daemon/daemon-file.ts'
import { withPreset } from '../../src/config/presets.ts'
import { configSchema } from '../../src/config/schema.ts'
import { tempDir } from '../helpers/temp-dir.ts'

/** Loads the configuration of a project directory whose pagecache.yaml has this text. */
async function load(yaml: string | null, options: { flags?: ConfigFlags; variables?: Record<string, string> } = {}) {
  const cwd = await tempDir()
  if (yaml !== null) await writeFile(join(cwd, 'pagecache.yaml'), yaml)
  return loadConfig(options.flags ?? {}, { cwd, variables: options.variables ?? {} })
}

const cacheOf = (values: Record<string, unknown>) => parse(configSchema, withPreset(values)).cache

it('each default of a preset can be set by itself', () => {
  const defaults = cacheOf({ shop: 'shopware' })
  expect(defaults).toMatchObject({
    grace: 3 * 86_400_000,
    emptyPaths: ['/widgets/checkout/info'],
    assets: ['/media', '/thumbnail', '/theme', '/bundles'],
    variants: { cookies: ['sw-cache-hash | sw-currency'], headers: [] },
    ignoreQuery: ['shopware'],
    browser: 'no-store',
  })
  const changes = {
    grace: 0,
    emptyPaths: [],
    assets: ['/static'],
    ignoreQuery: ['ref'],
    browser: 'pass' as const,
    variants: { ...defaults.variants, cookies: ['group'] },
  }
  for (const [key, value] of Object.entries(changes))
    expect(cacheOf({ shop: 'shopware', cache: { [key]: value } })).toEqual({ ...defaults, [key]: value })
  expect(cacheOf({ shop: 'shopware', cache: { variants: { headers: ['x-country'] } } }).variants).toEqual({
    ...defaults.variants,
    headers: ['x-country'],
  })
})

it('a plain shop has the defaults of the schema', () => {
  expect(cacheOf({ shop: 'plain' })).toEqual(cacheOf({}))
  expect(cacheOf({})).toMatchObject({
    grace: 0,
    emptyPaths: [],
    assets: [],
    variants: { cookies: [] },
    browser: 'pass',
  })
})

it('the kind of shop comes from the file, a variable or a flag', async () => {
  const values = [{ path: ['shop'] as const, value: 'shopware', flag: 'shop' }]
  for (const loaded of [
    await load('shop: shopware'),
    await load(null, { variables: { PAGECACHE_SHOP: 'shopware' } }),
    await load('shop: plain', { flags: { values } }),
    await load(configTemplate({ url: 'https://shop.example', origin: 'http://10.0.0.1' }, { shop: 'shopware' })),
  ])
    expect(loaded.config.cache.browser).toBe('no-store')
})

it('a default of a kind of shop has the source of shop', async () => {
  const { sourceOf } = await load('server: { port: 1 }\nshop: shopware\ncache: { browser: pass }')
  const shop = { kind: 'file', file: 'pagecache.yaml', line: 2 }
  for (const path of [['cache', 'grace'], ['cache', 'variants', 'cookies'], ['shop']])
    expect(sourceOf(path)).toEqual(shop)
  expect(sourceOf(['cache', 'browser'])).toEqual({ ...shop, line: 3 })
  expect(sourceOf(['cache', 'variants', 'headers'])).toEqual({ kind: 'default' })
})

it('a command adopts the kind of shop of a running daemon', async () => {
  const values = [{ path: ['shop'] as const, value: 'shopware', flag: 'shop' }]
  const loaded = await load(null, { flags: { values } })
  const file = new DaemonFile(loaded, { url: 'http://127.0.0.1:1', port: 1 }, (error) => {
    throw error
  })
  onTestFinished(() => file.close())
  const { config, sourceOf } = withDaemonsFlags(await load(null), findDaemon(loaded.places.dataDir)!)
  expect(config.cache).toEqual(cacheOf({ shop: 'shopware' }))
  expect(sourceOf(['cache', 'variants', 'cookies'])).toEqual({ kind: 'daemon' })
})

it.each([
  ['shop: magento', 'shop'],
  ['cache: { assets: ["/"] }', 'cache.assets[0]'],
  ['cache: { emptyPaths: [x] }', 'cache.emptyPaths[0]'],
  ['cache: { variants: { cookies: ["a |"] } }', 'cache.variants.cookies[0]'],
  ['cache: { variants: { cookies: ["a b"] } }', 'cache.variants.cookies[0]'],
  ['cache: { browser: never }', 'cache.browser'],
  ['shop: shopware\ncache: { grace: long }', 'cache.grace'],
  ['shop: shopware\ncache: 1', 'cache'],
])('%j is a fault of %s', async (text, key) => {
  await expect(load(text)).rejects.toThrow(key)
})

it('alternatives are written with single spaces', () => {
  expect(cacheOf({ cache: { variants: { cookies: ['a|b  |c'] } } }).variants.cookies).toEqual(['a | b | c'])
})
