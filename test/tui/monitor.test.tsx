import { describe, expect, it } from 'vitest'
import { cells } from '../../src/tui/text/width.ts'
import { toText } from '../../src/tui/text/line.ts'
import { watched } from './fake-source.ts'
import { until } from '../helpers/until.ts'
import { start } from './start-monitor.tsx'

describe('the screen of a warmup', () => {
  it('shows everything of a run at 120×40', async () => {
    const { text } = start()
    await until(() => expect(text()).toContain('RUNNING'))
    await expect(text()).toMatchFileSnapshot('screens/warmup-120x40.txt')
    for (const part of [
      '45.50 %',
      '54,600 of 120,000',
      'ETA 14 min (12–20 min)',
      'average',
      'peak',
      'p99',
      '≤16 ms',
      'set-cookie 31',
      '503 7',
      'throttled: slow responses',
      'memory 112 MB',
      'loop 1.4 ms',
      'Worker slots 12',
      'Slowest 10',
      'Failed 45',
      'q leave; the warmup continues',
    ]) {
      expect(text()).toContain(part)
    }
  })

  it.each([
    [80, 24],
    [60, 15],
    [100, 30],
    [80, 60],
    [240, 70],
  ])('fits into %i×%i: no line too long, none too many, head and foot in their places', async (columns, rows) => {
    const { session, text } = start()
    await until(() => expect(text()).toContain('RUNNING'))
    const lines = session.screen(columns, rows).map((line) => line.map((span) => span.text).join(''))
    expect(lines).toHaveLength(rows)
    for (const line of lines) expect(cells(line)).toBe(columns - 1)
    expect(lines[0]).toContain('pagecache warmup')
    expect(lines.at(-1)).toContain('q leave; the warmup continues')
    await expect(text(columns, rows)).toMatchFileSnapshot(`screens/warmup-${columns}x${rows}.txt`)
  })

  it('is one line below 60×15', async () => {
    const { session, text } = start()
    await until(() => expect(text()).toContain('RUNNING'))
    expect(
      session
        .screen(59, 20)
        .map(toText)
        .filter((line) => line !== ''),
    ).toHaveLength(1)
    expect(text(80, 14).trimEnd()).toBe('running  45.50 %  54,600/120,000  78/s  ETA 14 min  45 failed')
    for (const line of session.screen(20, 5)) expect(cells(toText(line))).toBeLessThanOrEqual(19)
  })

  it('says that there is no warmup, or that no worker has taken it up', async () => {
    const { text } = start({ 'warmup.watch': { success: true, progress: null, live: null } })
    await until(() => expect(text()).toContain('No warmup yet'))
    const idle = start({ 'warmup.watch': watched(700, { live: { updatedAt: null, workers: [], slots: [] } }) })
    await until(() => expect(idle.text()).toContain('No worker has started it yet'))
    expect(idle.text()).toContain('STALE 12 min: no worker')
    const waiting = { updatedAt: null, workers: [], slots: [], behind: '0190c0de-2222' }
    const queued = start({ 'warmup.watch': watched(700, { live: waiting }) })
    await until(() => expect(queued.text()).toContain('Begins after warmup 0190c0de-2222'))
    expect(queued.text()).not.toMatch(/STALE|no worker/i)
  })
})

describe('what the store says', () => {
  it('a pause is only asked for until the store confirms it', async () => {
    const { text, press, state, source, session } = start({ 'warmup.pause': { success: true } })
    await until(() => expect(text()).toContain('RUNNING'))
    press('p')
    expect(text()).toContain('● RUNNING · pause requested, not confirmed yet')
    await until(() =>
      expect(source.asked).toContainEqual({
        operation: 'warmup.pause',
        input: { progressId: '0190c0de-1111-7000-8000-00000000012f' },
      }),
    )
    state.status = 'paused'
    await until(() => expect(text()).toContain('‖ PAUSED'))
    expect(session.view.asked).toBe(null)
    expect(text()).toContain('r resume')
  })

  it('a refusal is told, and nothing is pretended', async () => {
    const { text, press } = start({ 'warmup.pause': new Error('The warmup is completed.') })
    await until(() => expect(text()).toContain('RUNNING'))
    press('p')
    await until(() => expect(text()).toContain('Cannot pause the warmup: The warmup is completed.'))
    expect(text()).not.toContain('asked for')
  })

  it('cancel asks first', async () => {
    const { text, press, source } = start({ 'warmup.cancel': { success: true } })
    await until(() => expect(text()).toContain('RUNNING'))
    press('c')
    expect(text()).toContain('Cancel this warmup?')
    press('n')
    expect(source.count('warmup.cancel')).toBe(0)
    press('c', 'y')
    await until(() => expect(source.count('warmup.cancel')).toBe(1))
  })

  it.each([
    [120, ' On prod /srv/shop: Cancel this warmup? Cached pages stay; the rest is not fetched.  y cancel it  n no'],
    [80, ' On prod /srv/shop: Cancel this warmup?  y cancel it  n no'],
    [60, ' On prod /srv/shop: Cancel this warmup?  y cancel it  n no'],
  ])('at %i columns the question names what it is done on, and its answers', async (columns, question) => {
    const { text, press } = start()
    await until(() => expect(text()).toContain('RUNNING'))
    press('c')
    expect(text(columns, 24).split('\n').at(-1)).toContain(question)
  })

  it.each([
    [59, ' On prod /srv/shop: Cancel this warmup?  y cancel it  n no'],
    [50, ' On p…hop: Cancel this warmup?  y cancel it  n no'],
    [40, ' Cancel this warmup?  y cancel it  n no'],
    [30, ' Cancel?  y cancel it  n no'],
  ])('at %i columns, too few for the screen, the question is asked in its place', async (columns, question) => {
    const { text, press } = start()
    await until(() => expect(text()).toContain('RUNNING'))
    press('c')
    expect(text(columns, 10).split('\n')[0]).toContain(question)
    press('n')
    expect(text(columns, 10).split('\n')[0]).not.toContain('Cancel')
  })

  it('is stale after three seconds without news, and fresh again by itself', async () => {
    let broken = false
    const { text, state } = start({
      'warmup.watch': () => (broken ? new Error('the daemon does not answer') : watched(700)),
    })
    await until(() => expect(text()).toContain('RUNNING'))
    broken = true
    state.now += 5000
    await until(() => expect(text()).toContain('STALE 5 s: the daemon does not answer'))
    expect(text()).toContain('54,600 of 120,000')
    broken = false
    await until(() => expect(text()).not.toContain('STALE'))
  })

  it.each([
    [80, ' pagecache warmup STALE 5 s: https://staging.example:8080 cannot be asked: not…'],
    [60, ' pagecache warmup STALE 5 s: https://staging.example:8080 …'],
  ])('at %i columns a long reason is cut, and never keeps it from being said', async (columns, head) => {
    let broken = false
    const { text, state } = start({
      'warmup.watch': () =>
        broken
          ? new Error('https://staging.example:8080 cannot be asked: nothing listens there (ECONNREFUSED).')
          : watched(700),
    })
    await until(() => expect(text()).toContain('RUNNING'))
    broken = true
    state.now += 5000
    await until(() => expect(text(columns, 24)).toContain('STALE 5 s: https'))
    expect(text(columns, 24).split('\n')[0]).toBe(head)
  })
})
