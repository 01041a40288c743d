import { readFile } from 'node:fs/promises'
import { expect, it } from 'vitest'
import { configurationSurface } from '../../scripts/surface.ts'
import { loadConfig } from '../../src/config/load.ts'
import { tempDir } from '../helpers/temp-dir.ts'

it('the documentation names the variable of each value', async () => {
  const guide = await readFile(new URL('../../docs/configuration.md', import.meta.url), 'utf8')
  const documented = [...guide.matchAll(/\(`(PAGECACHE_\w+)`\) \|$/gm)].map(([, name]) => name!)
  const known = Object.values(configurationSurface()).flatMap(({ variable }) => variable ?? [])
  expect(documented.toSorted()).toEqual(known.toSorted())
})

it('values of nested sections have variables too', async () => {
  const variables = {
    PAGECACHE_RECORDS_URL: 'postgres://db.example/pagecache',
    PAGECACHE_CACHE_SHARED_URL: 'redis://cache.example:6379',
    PAGECACHE_CACHE_SHARED_MAX_AGE: '2h',
  }
  const { config } = await loadConfig({}, { cwd: await tempDir(), variables })
  expect(config.cache.shared).toEqual({ url: 'redis://cache.example:6379', maxAge: 7_200_000 })
})
