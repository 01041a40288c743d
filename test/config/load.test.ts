import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { configurationSurface } from '../../scripts/surface.ts'
import { describeConfig } from '../../src/config/describe.ts'
import { configTemplate } from '../../src/config/template.ts'
import { tempDir } from '../helpers/temp-dir.ts'
import { channel, fault, load } from './loading.ts'

describe('defaults', () => {
  it('apply without a file, in milliseconds and bytes', async () => {
    const { config, environment, file } = await load(null)
    expect(environment).toBe('prod')
    expect(file).toBeNull()
    expect(config).toMatchObject({
      server: { host: '127.0.0.1', port: 8080, processes: 1 },
      salesChannels: [],
      purgers: ['127.0.0.0/8', '::1'],
      cache: { memory: 128 * 1024 ** 2, maxSize: null, maxPageSize: 16 * 1024 ** 2, maxVariants: 64, defaultTtl: 0 },
      origin: { connectTimeout: 5000, headersTimeout: 60_000, idleTimeout: 60_000, totalTimeout: 300_000 },
      warmup: { concurrency: 4, requestsPerSecond: null, timeout: 30_000, retries: 3 },
    })
  })

  it.each(['', '# nothing\n', 'server:\n  # port: 1\nsalesChannels:\n  # none\n'])(
    'apply with an empty file: %j',
    async (yaml) => {
      expect((await load(yaml)).config).toEqual((await load(null)).config)
    },
  )

  it('are all listed in the file written by init', () => {
    const template = configTemplate(null)
    for (const [key, { default: initial, variable }] of Object.entries(configurationSurface())) {
      const path = key.split('.')
      const hasOwnLine = variable !== null && path.length < 3
      expect(template).toContain(hasOwnLine ? `# ${path.at(-1)}: ${String(initial)}\n` : `${path.at(-1)}:`)
    }
  })
})

describe('precedence', () => {
  const yaml = 'server:\n  host: 127.0.0.2\n  port: 1001\n  processes: 3\n'
  const variables = { PAGECACHE_SERVER_PORT: '1002', PAGECACHE_SERVER_PROCESSES: '4' }

  it('is flag, variable, file, default, and each value has its source', async () => {
    const values = [{ path: ['server', 'port'] as const, value: 1003, flag: 'port' }]
    const loaded = await load(yaml, { variables, flags: { values } })
    const described = Object.fromEntries(
      describeConfig(loaded).map(({ key, value, source }) => [key, `${String(value)} ${source}`]),
    )
    expect(described).toMatchObject({
      'server.port': '1003 --port',
      'server.processes': '4 PAGECACHE_SERVER_PROCESSES',
      'server.host': '127.0.0.2 pagecache.yaml:2',
      'cache.compression': 'true default',
    })
  })

  it('reads numbers, booleans, null, sizes and durations from variables', async () => {
    const { config } = await load('cache: { maxSize: 1GB }', {
      variables: {
        PAGECACHE_CACHE_MEMORY: '1MB',
        PAGECACHE_CACHE_COMPRESSION: 'false',
        PAGECACHE_CACHE_MAX_SIZE: 'null',
        PAGECACHE_ORIGIN_TOTAL_TIMEOUT: '90',
        PAGECACHE_CACHE_DEFAULT_TTL: '5m',
      },
    })
    expect(config.cache).toMatchObject({ memory: 1024 ** 2, compression: false, maxSize: null, defaultTtl: 300_000 })
    expect(config.origin.totalTimeout).toBe(90_000)
  })

  it('ignores empty and unrelated variables', async () => {
    const { config } = await load(null, {
      variables: { PAGECACHE_SERVER_PORT: '', PAGECACHE_PORT_80_TCP: 'tcp://10.0.0.1' },
    })
    expect(config.server.port).toBe(8080)
  })
})

describe('environment and places', () => {
  it.each([
    [{ flags: { env: 'dev' }, variables: { PAGECACHE_ENV: 'b', APP_ENV: 'c' } }, 'dev'],
    [{ variables: { PAGECACHE_ENV: 'staging', APP_ENV: 'c' } }, 'staging'],
    [{ variables: { APP_ENV: 'test' } }, 'test'],
  ])('%j is the environment %s', async (given, environment) => {
    const loaded = await load(null, given)
    expect(loaded.environment).toBe(environment)
    expect(loaded.places.cacheDir).toBe(join(loaded.places.projectDir, 'var/cache', environment))
    expect(loaded.places.dataDir).toBe(join(loaded.places.projectDir, 'var/data', environment))
  })

  it.each(['../../etc', '..', '.', 'a/b', 'a\u0000b', '', ' ', '-x', 'a'.repeat(65)])(
    '%j is not a valid environment name',
    async (env) => {
      expect(await fault(null, { flags: { env } })).toContain('is not a valid environment name')
    },
  )

  it('takes the project directory and the file from variables', async () => {
    const projectDir = await tempDir()
    await mkdir(join(projectDir, 'etc'))
    await writeFile(join(projectDir, 'etc/other.yaml'), 'server: { port: 9 }')
    const variables = { PAGECACHE_PROJECT_DIR: projectDir, PAGECACHE_CONFIG: join(projectDir, 'etc/other.yaml') }
    const loaded = await load(null, { variables })
    expect(loaded.places.projectDir).toBe(projectDir)
    expect(loaded.config.server.port).toBe(9)
    expect(loaded.sourceOf(['server', 'port'])).toEqual({ kind: 'file', file: 'etc/other.yaml', line: 1 })
  })

  it('rejects a missing file or directory that was named explicitly', async () => {
    expect(await fault(null, { flags: { config: 'nowhere.yaml' } })).toContain('There is no configuration file')
    expect(await fault(null, { flags: { projectDir: 'nowhere' } })).toContain('There is no project directory')
  })
})

describe('what is accepted', () => {
  it('normalises URLs and reads every form of a value', async () => {
    const { config } = await load(
      `salesChannels: [${channel.replace('http://shop.example', 'HTTP://Shop.Example:80/de/')}]\ncache: { memory: 0, maxSize: 1.5 GB, types: [{ type: cms, header: "X-Page: cms" }] }\ntrustedProxies: ["fe80::/10", 10.1.2.3]\n`,
    )
    expect(config.salesChannels[0]).toMatchObject({
      url: 'http://shop.example/de',
      origin: 'http://127.0.0.1:8000',
      sitemaps: [],
    })
    expect(config.cache).toMatchObject({
      memory: 0,
      maxSize: 1.5 * 1024 ** 3,
      types: [{ type: 'cms', header: 'X-Page: cms' }],
    })
    expect(config.trustedProxies).toEqual(['fe80::/10', '10.1.2.3'])
  })

  it('includes the file that init writes for a shop', async () => {
    const { config } = await load(configTemplate({ url: 'https://shop.example/de', origin: 'http://10.0.0.1' }))
    expect(config.salesChannels).toMatchObject([{ url: 'https://shop.example/de', origin: 'http://10.0.0.1' }])
  })
})
