import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { loadConfig } from '../../src/config/load.ts'
import { deploy, faultsIn, readCompose } from '../helpers/compose.ts'

const nodes = ['pagecache-1', 'pagecache-2', 'pagecache-3'] as const
const compose = readCompose<(typeof nodes)[number] | 'caddy' | 'consumer' | 'migrate' | 'postgres' | 'redis' | 'shop'>(
  'compose-cluster.yaml',
)
const { caddy, consumer, migrate, postgres, redis, shop } = compose.services
const caddyfile = readFileSync(join(deploy, 'compose-cluster/Caddyfile'), 'utf8')
const addressOf = (service: typeof shop) => service.networks['shop']!.ipv4_address!

/** The configuration that a service gets. */
async function configOf({ environment }: typeof shop) {
  const config = environment!['PAGECACHE_CONFIG']!.replace('/etc/pagecache', join(deploy, 'compose-cluster'))
  return (await loadConfig({}, { cwd: '/', variables: { ...environment, PAGECACHE_CONFIG: config } })).config
}

it('compose-cluster.yaml has known keys, and refers to what exists', () => {
  const hasHealthCheck = (image: string) => image === 'pagecache'
  expect(faultsIn(compose, hasHealthCheck)).toEqual([])
  const broken = structuredClone(compose)
  Object.assign(broken.services.shop, { comand: [], volumes: ['nothing:/x'], networks: { other: {} } })
  broken.services.caddy.depends_on = { consumer: { condition: 'service_healthy' }, absent: { condition: 'ready' } }
  broken.services.redis.networks = { shop: { ipv4_address: '10.0.0.1' } }
  expect(faultsIn(broken, hasHealthCheck)).toEqual([
    'caddy: consumer has no health check',
    'caddy: absent ready',
    'redis: shop 10.0.0.1',
    'shop: comand',
    'shop: nothing:/x',
    'shop: other undefined',
  ])
})

it('the nodes have names and pages of their own, and everything else in common', async () => {
  expect(Object.keys(compose.services)).toHaveLength(9)
  const { hostname: _, volumes: own, build, ...common } = compose.services['pagecache-1']
  expect(shop.build).toEqual(build)
  for (const name of nodes) {
    const { hostname, volumes, build: _build, ...rest } = compose.services[name]
    expect([hostname, volumes]).toEqual([name, own!.map((volume) => volume.replace('pagecache-1:', `${name}:`))])
    expect(rest).toEqual(common)
    expect(caddyfile).toContain(`${name}:8080`)
    expect(caddy.depends_on).toHaveProperty([name])
  }
  expect(common.command).toEqual(['serve', '--no-workers'])
  expect(common.depends_on).toMatchObject({ migrate: { condition: 'service_completed_successfully' } })
  expect([consumer.command![0], migrate.command]).toEqual(['messenger:consume', ['records:migrate']])
  expect((await configOf(consumer)).cache.maxSize).toBe(1024 ** 3)
})

it('the services find each other, and pagecache trusts the right ones', async () => {
  const config = await configOf(compose.services['pagecache-1'])
  const records = new URL(config.records.url!)
  const { POSTGRES_USER: user, POSTGRES_PASSWORD: password, POSTGRES_DB: database } = postgres.environment!
  expect([records.hostname, records.username, records.password, records.pathname]).toEqual([
    'postgres',
    user,
    password,
    `/${database}`,
  ])
  expect([new URL(config.cache.shared.url!).hostname, redis.command![0]]).toEqual(['redis', 'redis-server'])
  expect(config.trustedProxies).toEqual([addressOf(caddy)])
  expect(config.purgers).toEqual(['127.0.0.0/8', addressOf(shop)])
  const option = (name: string) => shop.command![shop.command!.indexOf(`--${name}`) + 1]!
  const purged = new URL(option('purge'))
  expect(compose.services['pagecache-1'].networks['shop']!.aliases).toEqual([purged.hostname])
  expect(config.server.names).toEqual([purged.hostname, ...nodes])
  expect([purged.port, config.server.port]).toEqual(['8080', 8080])
  expect(config.salesChannels.map(({ url, origin }) => [url, origin])).toEqual([
    [option('url'), `http://shop:${option('port')}`],
    [`${option('url')}/de`, `http://shop:${option('port')}`],
  ])
  expect(caddyfile).toContain('health_uri /readyz')
})
