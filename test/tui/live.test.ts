import { once } from 'node:events'
import { describe, expect, it, onTestFinished } from 'vitest'
import type { Follower } from '../../src/operations/operation.ts'
import type { LiveEvent } from '../../src/operations/traffic-live.ts'
import { Session } from '../../src/tui/session.ts'
import { toText } from '../../src/tui/text/line.ts'
import { withFilter } from '../../src/tui/tabs/live/live-filter.ts'
import { addEvent, byResult, lastSeconds, type Tail } from '../../src/tui/tabs/live/tail.ts'
import { liveTab } from '../../src/tui/tabs/live/tab.ts'
import { FakeSource } from './fake-source.ts'
import { liveRequests, time } from './fake-system.ts'
import { until } from '../helpers/until.ts'

const [sample] = liveRequests(1)

function requests(part: object, notShown = 0): LiveEvent {
  return { kind: 'requests', requests: [{ ...sample!, ...part }], notShown }
}

/** A screen of live requests whose events the test emits. */
function start(base = {}) {
  const followers: { input: object; follower: Follower }[] = []
  const source = new FakeSource({
    'traffic.live': async (input: object, follower: Follower) => {
      followers.push({ input, follower })
      await follower.emit({ kind: 'processes', processes: 1 })
      await once(follower.signal, 'abort')
      return { success: true }
    },
  })
  const copied: string[] = []
  const session = new Session({
    source,
    tabs: [liveTab(base)],
    leaving: () => 'leave',
    untilEnd: false,
    now: () => performance.now(),
    time: () => time,
    random: () => 0.5,
    copy: (text) => void copied.push(text),
    save: async (file) => file,
  })
  session.start()
  onTestFinished(() => session.stop())
  return {
    session,
    copied,
    inputs: () => followers.map(({ input }) => input),
    open: () => followers.filter(({ follower }) => !follower.signal.aborted).length,
    emit: (event: LiveEvent) => followers.at(-1)!.follower.emit(event),
    text: (columns = 120, rows = 36) => session.screen(columns, rows).map(toText).join('\n'),
    press: (...keys: string[]) => keys.forEach((key) => session.press(key, key.length === 1 ? key : '')),
  }
}

describe('the tail of requests', () => {
  it('has the newest requests first, and the figures of the last minute', () => {
    const { requests: shown } = { requests: liveRequests(60) }
    const now = 5000
    const tail = addEvent(null, { kind: 'requests', requests: shown, notShown: 240 }, now)
    expect(tail.requests.map(({ at }) => at)).toEqual(shown.map(({ at }) => at).toReversed())
    expect(tail.total).toBe(300)
    expect(byResult(tail, now)).toMatchObject({ hit: 20, miss: 10 })
    expect(byResult(tail, now + 120_000)).toEqual({})
    expect(lastSeconds(tail, now + 1000).reduce((sum, { requests }) => sum + requests, 0)).toBe(300)
    expect(Math.max(...lastSeconds(tail, now).map(({ slowest }) => slowest))).toBe(10_002)
    expect([...tail.misses.values()]).toEqual([
      { path: '/de/wohnen', reason: 'not cached yet', requests: 10, ms: expect.closeTo(2314) as number },
    ])
  })

  it('stays bounded, whatever the traffic is', () => {
    let tail: Tail | null = null
    for (let second = 0; second < 400; second++)
      tail = addEvent(
        tail,
        {
          kind: 'requests',
          requests: Array.from({ length: 50 }, (_, index) => ({
            ...sample!,
            at: new Date(time + second * 1000).toISOString(),
            result: 'miss' as const,
            reason: 'not cached yet',
            path: index === 0 ? '/frequent' : `/p/${second * 50 + index}`,
          })),
          notShown: 9_950,
        },
        second * 1000,
      )
    expect(tail!.total).toBe(4_000_000)
    expect(tail!.requests.length).toBe(500)
    expect(tail!.seconds.length).toBe(60)
    expect(tail!.misses.size).toBeLessThanOrEqual(1000)
    expect(tail!.misses.get('/frequent not cached yet')!.requests).toBe(400)
  })
})

const hour = 3_600_000

it.each([
  ['is put back', [time + hour, time]],
  ['is put forward', [time, time + hour]],
  ['differs from the clock here', [Date.now() - 60_000]],
])('the figures are right where the clock of the daemon %s', (_, starts) => {
  let tail: Tail | null = null
  let now = 0
  for (const start of starts)
    for (let second = 0; second < 80; second++)
      tail = addEvent(tail, requests({ at: new Date(start + second * 1000).toISOString() }), (now += 1000))
  expect(lastSeconds(tail!, now + 1000).filter((second) => second.requests === 1)).toHaveLength(59)
  expect(byResult(tail!, now + 1000)).toEqual({ hit: 59 })
  expect(tail!.seconds).toHaveLength(60)
})

describe('a filter', () => {
  it.each([
    ['miss', { result: ['miss'] }],
    ['hit|stale products', { result: ['hit', 'stale'], type: ['products'] }],
    ['/checkout >1s !cart', { path: '/checkout' }],
    ['/a|/b 5xx', {}],
    ['/schuhe/größe-39', { path: '/schuhe/gr' }],
    ['missing', {}],
  ])('%s is passed on to the daemon as far as it can apply it', (filter, input) => {
    expect(withFilter({}, filter)).toEqual(input)
  })

  it('does not widen that of the command', () => {
    expect(withFilter({ result: ['pass'], path: '/de/' }, 'miss /fr/')).toEqual({ result: ['pass'], path: '/de/' })
  })

  it('that is typed takes effect at once, and the daemon sends only what it selects', async () => {
    const { text, press, emit, inputs, open } = start({ type: ['products'] })
    await until(() => expect(text()).toContain('1 process'))
    await emit(requests({ path: '/one', result: 'miss', reason: 'expired' }))
    await emit(requests({ path: '/two' }))
    await until(() => expect(text()).toContain('/two'))
    press('/', ...'miss')
    expect(text()).not.toContain('/two')
    expect(text()).toContain('/one  expired')
    await until(() => expect(inputs()).toEqual([{ type: ['products'] }, { type: ['products'], result: ['miss'] }]))
    expect(open()).toBe(1)
    press('return', 'escape')
    await until(() => expect(inputs()).toHaveLength(3))
    expect(inputs()[2]).toEqual({ type: ['products'] })
    expect(text()).toContain('/two')
    expect(open()).toBe(1)
  })
})

describe('the screen of live requests', () => {
  it('is held by a key while requests go on, and copies a path', async () => {
    const { text, press, emit, copied } = start()
    await until(() => expect(text()).toContain('1 process'))
    await emit(requests({ path: '/before' }))
    await until(() => expect(text()).toContain('/before'))
    press(' ')
    expect(text()).toContain('FROZEN')
    expect(text()).toContain('f unfreeze')
    await emit(requests({ path: '/after' }))
    press('y')
    expect(copied).toEqual(['/before'])
    expect(text()).not.toContain('/after')
    press(' ')
    await until(() => expect(text()).toContain('/after'))
  })

  it('names the hosts where there are several, and the path and reason of a miss', async () => {
    const { text, emit } = start()
    await until(() => expect(text()).toContain('1 process'))
    await emit(requests({ host: 'one.example', path: '/%E9%9D%B4', result: 'miss', reason: 'Set-Cookie' }))
    await emit(requests({ host: 'two.example', method: 'POST', path: '/cart', status: 0 }))
    await until(() => expect(text()).toContain('POST two.example/cart'))
    expect(text()).toContain('one.example/靴  Set-Cookie')
    expect(text()).toMatch(/ 1 +0.3 ms +Set-Cookie +\/靴/)
  })

  it('says that the daemon is gone, and goes on when it is back', async () => {
    let isThere = false
    const source = new FakeSource({
      'traffic.live': async (_: object, { emit, signal }: Follower) => {
        if (!isThere) throw new Error('connection refused')
        await emit({ kind: 'processes', processes: 3 })
        await once(signal, 'abort')
      },
    })
    const { session, text } = start()
    session.stop()
    const other = new Session({
      source,
      tabs: [liveTab()],
      leaving: () => 'leave',
      untilEnd: false,
      now: () => performance.now(),
      time: () => time,
      random: () => 0.5,
      copy: () => {},
      save: async (file) => file,
    })
    onTestFinished(() => other.stop())
    other.start()
    const shown = () => other.screen(120, 36).map(toText).join('\n')
    await until(() => expect(shown()).toContain('STALE: connection refused'))
    isThere = true
    await until(() => expect(shown()).toContain('3 processes'))
    expect(shown()).not.toContain('STALE')
    expect(text()).not.toContain('STALE')
  })
})
