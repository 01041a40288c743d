import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { exchange } from '../helpers/exchange.ts'
import { startOrigin, type Origin } from '../helpers/origin.ts'
import { hasVarnish, startVarnishProxy, type Varnish } from '../helpers/varnish.ts'
import { until } from '../helpers/until.ts'

/** A Varnish of its own: the state of its VCL must not depend on requests of other tests. */
describe.skipIf(!hasVarnish)('the fence of docs/varnish.vcl', () => {
  let origin: Origin
  let varnish: Varnish
  let fetches = 0
  let gate: Promise<void> | null = null
  beforeAll(async () => {
    origin = await startOrigin({
      otherwise: async ({ path }) => {
        const body = `fetch ${++fetches} of ${path}`
        await gate
        return {
          headers: { 'content-type': 'text/html', 'cache-control': 'public, s-maxage=3600', xkey: path.slice(1) },
          body,
        }
      },
    })
  })
  beforeEach(async () => {
    fetches = 0
    gate = null
    varnish = await startVarnishProxy(origin.host)
  })
  afterEach(() => varnish.stop())
  afterAll(() => origin.stop())

  const get = async (path: string) =>
    (await exchange(`${varnish.url}${path}`, { headers: { host: 'shop.example' } })).body.toString()
  const send = async (method: string, path: string, headers: Record<string, string> = {}) =>
    (await fetch(`${varnish.url}${path}`, { method, headers, signal: AbortSignal.timeout(120_000) })).status

  /** Three requests for a new URL cause one fetch. */
  async function expectCaching(path: string): Promise<void> {
    const before = fetches
    const bodies = [await get(path), await get(path), await get(path)]
    expect({ bodies: new Set(bodies).size, fetches: fetches - before }).toEqual({ bodies: 1, fetches: 1 })
  }

  /** Asserts that a page being fetched while `meanwhile` runs is not kept. */
  async function expectFence(path: string, meanwhile: () => Promise<void>): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>()
    gate = promise
    const before = fetches
    const visitor = get(path)
    await until(() => fetches > before)
    await meanwhile()
    gate = null
    resolve()
    const old = await visitor
    expect(await get(path)).not.toBe(old)
  }

  async function reload(name: string): Promise<void> {
    await varnish.admin('vcl.load', name, varnish.vclFile)
    await varnish.admin('vcl.use', name)
  }

  it('a Varnish that has just started caches, before any purge', () => expectCaching('/fresh'))

  it('a purge before the first page, and one after it', async () => {
    expect(await send('PURGE', '/', { xkey: 'nothing' })).toBe(200)
    await expectCaching('/purged-before')
    expect(await send('PURGE', '/', { xkey: 'purged-before' })).toBe(200)
    expect(await get('/purged-before')).toBe('fetch 2 of /purged-before')
    await expectCaching('/purged-after')
  })

  it.each([
    ['tag', () => send('PURGE', '/', { xkey: 'first' })],
    ['soft purge', () => send('PURGE', '/', { 'xkey-softpurge': 'first' })],
    ['URL', () => send('PURGE', '/first', { host: 'shop.example' })],
  ] as const)('the first purge of all fences what is being fetched: %s', async (_, purge) => {
    await expectFence('/first', async () => void expect(await purge()).toBe(200))
    await expectCaching('/after-first')
  })

  it('a reload before or after the first purge keeps pages and the fence', async () => {
    await expectCaching('/kept')
    await reload('second')
    expect(await get('/kept')).toBe('fetch 1 of /kept')
    await expectCaching('/loaded')
    await send('PURGE', '/', { xkey: 'kept' })
    await reload('third')
    expect(await get('/kept')).toBe('fetch 3 of /kept')
    await expectCaching('/loaded-again')
  })

  it.each(['before', 'after'] as const)(
    'a page that is fetched during a reload and purged %s it is not kept',
    async (order) => {
      await expectFence('/over', async () => {
        if (order === 'after') await reload('second')
        await send('PURGE', '/', { xkey: 'over' })
        if (order === 'before') await reload('second')
      })
    },
  )

  it('a page that is fetched during a reload is kept', async () => {
    const { promise, resolve } = Promise.withResolvers<void>()
    gate = promise
    const visitor = get('/reloaded')
    await until(() => fetches === 1)
    await reload('second')
    resolve()
    expect(await get('/reloaded')).toBe(await visitor)
  })

  it('the first VCL may be discarded', async () => {
    await expectCaching('/first-vcl')
    await send('PURGE', '/', { xkey: 'first-vcl' })
    await reload('second')
    await until(async () => (await varnish.admin('vcl.discard', 'boot').catch(() => null)) !== null)
    await expectCaching('/second-vcl')
    await expectFence('/second-vcl-fence', async () => void (await send('PURGE', '/', { xkey: 'second-vcl-fence' })))
  })

  it('a label used by another VCL shares the fence', async () => {
    await varnish.admin('vcl.load', 'inner', varnish.vclFile)
    await varnish.admin('vcl.label', 'shop', 'inner')
    await varnish.admin(
      'vcl.inline',
      'outer',
      JSON.stringify('vcl 4.1; backend none none; sub vcl_recv { return (vcl(shop)); }'),
    )
    await varnish.admin('vcl.use', 'outer')
    await expectCaching('/labelled')
    await expectFence('/labelled-fence', async () => void (await send('PURGE', '/', { xkey: 'labelled-fence' })))
    await expectCaching('/labelled-after')
  })

  it('restarts: of varnishd, and of its serving process alone', async () => {
    await expectCaching('/restart')
    await send('PURGE', '/', { xkey: 'restart' })
    await varnish.kill()
    await varnish.start()
    await expectCaching('/restarted')
    await send('PURGE', '/', { xkey: 'restart' })
    await varnish.restartChild()
    await expectCaching('/child-restarted')
    await expectFence('/child-fence', async () => void (await send('PURGE', '/', { xkey: 'child-fence' })))
  })
})
