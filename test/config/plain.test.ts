import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { describeConfig } from '../../src/config/describe.ts'
import { loadConfig } from '../../src/config/load.ts'
import { fromPlain, toPlain } from '../../src/config/plain.ts'
import { tempDir } from '../helpers/temp-dir.ts'

it('hands over every value with its source, over JSON', async () => {
  const projectDir = await tempDir()
  await writeFile(
    join(projectDir, 'pagecache.yaml'),
    [
      'cache: { maxSize: 2GB, types: [{ type: products, tag: product- }] }',
      'reverseProxies: [{ name: front, type: varnish, url: "http://user:secret@127.0.0.1:6081" }]',
      'warmup: { variants: [{ cookies: { "a.b": x } }] }',
    ].join('\n'),
  )
  const values = [{ path: ['server', 'processes'] as const, value: 2, flag: 'processes' }]
  const loaded = await loadConfig({ projectDir, values }, { variables: { PAGECACHE_SERVER_PORT: '81' } })
  const handed = fromPlain(JSON.parse(JSON.stringify(toPlain(loaded))) as ReturnType<typeof toPlain>)
  expect(handed).toEqual({ ...loaded, sourceOf: expect.any(Function) as unknown })
  expect(describeConfig(handed)).toEqual(describeConfig(loaded))
  expect(describeConfig(handed).map(({ source }) => source)).toEqual(
    expect.arrayContaining(['default', 'pagecache.yaml:2', 'PAGECACHE_SERVER_PORT', '--processes']),
  )
})
