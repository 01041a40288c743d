import { describe, expect, it, onTestFinished } from 'vitest'
import { monitorTabs } from '../../src/tui/monitor-summary.ts'
import { invalidationsPanel, purgesPanel } from '../../src/tui/tabs/purges/lists.ts'
import { causes, purgeRate, type RecentPurges } from '../../src/tui/tabs/purges/values.ts'
import { Session } from '../../src/tui/session.ts'
import { toText } from '../../src/tui/text/line.ts'
import { cells } from '../../src/tui/text/width.ts'
import { system, time } from './fake-system.ts'
import { FakeSource } from './fake-source.ts'
import { until } from '../helpers/until.ts'

function start(answers: Record<string, unknown> = {}) {
  const source = new FakeSource({ ...system(), ...answers })
  const session = new Session({
    source,
    tabs: monitorTabs,
    leaving: () => 'leave',
    untilEnd: false,
    now: () => 1000,
    time: () => time,
    random: () => 0.5,
    copy: () => {},
    save: async (file) => file,
  })
  session.start()
  onTestFinished(() => session.stop())
  const text = (columns = 120, rows = 36) => session.screen(columns, rows).map(toText).join('\n')
  return { session, source, text, press: (...keys: string[]) => keys.forEach((key) => session.press(key, key)) }
}

const daemon = { pid: 4711, url: 'http://127.0.0.1:8080', startedAt: new Date(time - 90_000).toISOString() }

it.each([
  [null, 'daemon   not running: pagecache serve'],
  [{ ...daemon, mismatch: null }, 'daemon   http://127.0.0.1:8080 · for 1 min 30 s · process 4711 · version 1.2.3\n'],
  [
    { ...daemon, mismatch: 'The daemon runs with another file.' },
    '1.2.3\n          The daemon runs with another file.\n',
  ],
])('the overview shows the daemon: %j', async (found, shown) => {
  const { text } = start({ status: { version: '1.2.3', daemon: found } })
  await until(() => expect(text()).toContain(shown))
})

it.each([
  [36, 5],
  [60, 10],
])('charts on a terminal of %i rows have %i lines', async (rows, lines) => {
  const { text } = start()
  await until(() => expect(text(120, rows)).toContain('hit ratio, 0 to 100 %'))
  const isChart = (line: string) => /[\u2800-\u28ff]/.test(line)
  expect(text(120, rows).split('\n').filter(isChart)).toHaveLength(lines)
})

it('a terminal with room for one line shows the pages with separated thousands', async () => {
  const { text } = start()
  await until(() => expect(text(50, 4)).toContain('73,680 pages'))
})

describe.each(monitorTabs.map(({ id }, index) => [id, String(index + 1)] as const))('the tab %s', (id, key) => {
  it.each([
    [120, 36],
    [80, 24],
    [60, 15],
  ])('fits into %i×%i', async (columns, rows) => {
    const { session, text, press } = start()
    press(key)
    await until(() =>
      expect(
        Object.keys(monitorTabs[Number(key) - 1]!.plans).filter((name) => session.feeds[name]?.at === null),
      ).toEqual([]),
    )
    const lines = session.screen(columns, rows).map((line) => line.map((span) => span.text).join(''))
    expect(lines).toHaveLength(rows)
    for (const line of lines) expect(cells(line)).toBe(columns - 1)
    await expect(text(columns, rows)).toMatchFileSnapshot(`screens/monitor-${id}-${columns}x${rows}.txt`)
  })

  it('says in one line how it stands', async () => {
    const { session, text, press } = start()
    press(key)
    await until(() => expect(text()).not.toMatch(/loading/i))
    expect(
      session
        .screen(50, 10)
        .map(toText)
        .filter((line) => line !== ''),
    ).toHaveLength(1)
  })

  it('is stale without an answer', async () => {
    const { text, press } = start(Object.fromEntries(Object.keys(system()).map((name) => [name, new Error('gone')])))
    press(key)
    await until(() => expect(text()).toMatch(/loading/i))
  })
})

describe('nodes of a cluster', () => {
  const node = (name: string, state: string, purgesBehind: number) => ({
    ...{ name, state, purgesBehind, address: `http://${name}:8080`, version: '1' },
    since: new Date(time - 90_000).toISOString(),
    leaseLeft: state === 'live' ? 700 : 0,
  })
  const items = [node('one', 'live', 0), node('two', 'suspect', 12), node('three', 'gone', 900)]
  const nodes = { success: true, clustered: true, total: 3, limit: 1000, offset: 0, items }

  it('one that is suspect or gone stands out, with what to do about it', async () => {
    const { session, text, press } = start({ 'cluster.nodes': nodes })
    await until(() => expect(text()).toContain('1 live · two suspect · three gone'))
    const tones = session.screen(120, 36).flatMap((line) => line.map(({ text: own, tone }) => `${own.trim()} ${tone}`))
    expect(tones).toEqual(expect.arrayContaining(['two suspect warn', 'three gone bad']))
    press('tab', 'tab')
    await until(() => expect(text()).toMatch(/two +suspect +12 +http:\/\/two:8080/))
    press('e', 'down', 'return')
    await until(() => expect(text()).toContain('pagecache cluster:forget three'))
    expect(text()).toMatch(/Since .* UTC, 1 min 30 s ago/)
  })

  it('one machine has no such list', async () => {
    const { text } = start()
    await until(() => expect(text()).not.toMatch(/loading/i))
    expect(text()).not.toMatch(/nodes/i)
  })
})

it('a purge that a node may not have followed stands out, and names the node', async () => {
  const recent = system()['purgeLog.recent'] as RecentPurges
  const item = { ...recent.items[0]!, kind: 'tag' as const, url: null, tag: 'red', unconfirmed: ['two'] }
  const { rows } = purgesPanel({ ...recent, items: [item] }, [], time)
  expect(rows[0]).toMatchObject({ bad: true, text: expect.stringContaining('two') })
  expect(rows[0]!.detail.facts).toContainEqual(['Unconfirmed', 'two'])
  expect(rows[0]!.detail.copied).toBe('red')
})

describe('purges', () => {
  it('over-purging is seen at a glance: everything, who, top tags, and the proxy that is behind', async () => {
    const { text, press } = start()
    press('3')
    await until(() => {
      for (const part of [
        '2 full clears',
        'latest 40 s ago, api erp-sync',
        'varnish-2 12 behind since 3 min',
        '1 undelivered',
        '9,000   49 %',
        'erp-sync',
        '1 pending',
      ])
        expect(text()).toContain(part)
    })
    press('e')
    await until(() => expect(text()).toContain('errors only'))
    expect(text()).toContain('everything')
  })

  it('a filter searches the whole log, and says how far it has come', async () => {
    const recent = system()['purgeLog.recent'] as RecentPurges
    const old = {
      ...recent.items[0]!,
      id: 'old',
      kind: 'tag' as const,
      tag: 'navigation',
      url: null,
      source: 'api',
      actor: 'erp-sync',
      mode: 'hard' as const,
      invalidationId: 'old',
    }
    const found = { ...recent, total: 1, items: [old], next: 7, searchedTo: '2026-11-01T08:15:00.000Z' }
    const searches: unknown[] = []
    const { text, press } = start({
      'purgeLog.recent': (input: { search?: string }) => {
        if (input.search === undefined) return recent
        searches.push(input)
        return found
      },
    })
    press('3')
    await until(() => expect(text()).toContain('/min now'))
    press('/', ...'erp-sync !soft navi*')
    await until(() => expect(text()).toContain('1 found · back to 2026-11-01 08:15 UTC'))
    expect(text()).toMatch(/tag +navigation .*erp-sync/)
    expect(searches[0]).toEqual({ search: 'erp-sync', limit: 200 })
    // The rate of what was found is not the rate of purges.
    expect(text()).toContain('- now')
    press('return', 'escape')
    await until(() => expect(text()).toContain('/min now'))
  })

  it('a search that finds nothing does not claim that nothing was purged', async () => {
    const recent = system()['purgeLog.recent'] as RecentPurges
    const { text, press } = start({
      'purgeLog.recent': ({ search }: { search?: string }) =>
        search === undefined ? recent : { ...recent, total: 0, items: [], searchedTo: null },
    })
    press('3')
    await until(() => expect(text()).toContain('Purges 240'))
    press('/', ...'nowhere')
    await until(() => expect(text()).toContain('0 found'))
    expect(text()).toContain('No row matches the filter.')
    expect(text()).not.toContain('Nothing was purged yet.')
  })

  it('enter tells a purge with its cause and each proxy', async () => {
    const { session, text, press } = start()
    press('3')
    await until(() => expect(text()).toContain('Purges 240'))
    session.press('return', '')
    for (const part of ['Because of', 'varnish-2', 'pending, 3 attempts', 'connect ECONNREFUSED'])
      expect(text()).toContain(part)
  })

  it('the rate is that of the last minute, or of what the list covers', () => {
    const at = (ago: number) => ({ createdAt: new Date(time - ago).toISOString() })
    const recent = (limit: number, ...ago: number[]) => ({ limit, items: ago.map(at) }) as unknown as RecentPurges
    expect(purgeRate(recent(50), time)).toBe(0)
    expect(purgeRate(recent(50, 1000, 30_000, 90_000), time) * 60).toBe(2)
    expect(purgeRate(recent(2, 1000, 10_000), time)).toBe(0.2)
  })

  it('who asks most stands first', () => {
    const asked = (source: string, actor: string | null, pagesRemoved: number) => ({
      id: '',
      at: '',
      source,
      actor,
      scope: 'tags',
      value: '',
      pagesRemoved,
      unconfirmed: [],
    })
    expect(causes([asked('cli', null, 1), asked('api', 'x', 2), asked('api', 'x', 3)])).toEqual([
      { who: 'api x', count: 2, pages: 5 },
      { who: 'cli', count: 1, pages: 1 },
    ])
  })
})

it('the queue names who works on what, and what failed', async () => {
  const { text, press } = start()
  press('4')
  await until(() => {
    for (const part of [
      'purge.deliver (proxy:varnish-1)',
      '412 waiting',
      'oldest 1 min 34 s',
      'no worker',
      'failed permanently',
      'not seen for 30 s',
      'the proxy answered 500',
    ])
      expect(text()).toContain(part)
  })
})

it.each([60, 80, 119])('in %i columns what stands in the lists of purges stands apart, however long it is', (width) => {
  const at = new Date(time).toISOString()
  const invalidation = {
    id: 'i',
    at,
    source: 'purge-method',
    actor: '2001:db8::17:4242',
    scope: 'pattern',
    value: '/a.*',
    pagesRemoved: 23_567,
    unconfirmed: [],
  }
  const proxies = [{ name: 'varnish-1', status: 'delivered' as const, attempts: 1, responseTime: 2, error: null }]
  const item = {
    id: 'p',
    createdAt: at,
    kind: 'url' as const,
    type: null,
    value: null,
    url: '/a.*',
    tag: null,
    entityType: null,
    entityId: null,
    entityNumber: null,
    invalidationId: 'i',
    source: 'purge-method',
    actor: null,
    mode: 'soft' as const,
    pagesRemoved: 1,
    responseTime: 2,
    proxies,
    unconfirmed: [],
  }
  const range = { success: true as const, total: 1, limit: 1, offset: 0 }
  expect(toText(purgesPanel({ ...range, items: [item] }, [invalidation], time).rows[0]!.line(width))).toMatch(
    / 1(?:~| stale) .* delivered$/,
  )
  expect(toText(invalidationsPanel({ ...range, items: [invalidation] }, time).rows[0]!.line(width))).toMatch(
    / pattern +23,567 /,
  )
})
