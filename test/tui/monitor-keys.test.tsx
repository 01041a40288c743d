import { render } from 'ink-testing-library'
import { describe, expect, it } from 'vitest'
import { clipboardSequence } from '../../src/tui/sequences.ts'
import { Monitor } from '../../src/tui/monitor.tsx'
import { watched } from './fake-source.ts'
import { until } from '../helpers/until.ts'
import { start } from './start-monitor.tsx'

describe('keys', () => {
  it('freeze holds the picture still and says so', async () => {
    let seconds = 700
    const { text, press } = start({ 'warmup.watch': () => watched((seconds += 10)) })
    await until(() => expect(text()).toContain('RUNNING'))
    press('f')
    expect(text()).toContain('FROZEN')
    const counts = /[\d,]+ of 120,000/.exec(text())?.[0]
    const reached = seconds
    await until(() => expect(seconds).toBeGreaterThan(reached + 10))
    expect(text()).toContain(counts)
    press('f')
    await until(() => expect(text()).not.toContain(counts))
  })

  it('y copies the URL of the selected row, or of the one that is shown', async () => {
    const { text, press, copied } = start({ 'cache.inspect': { reason: 'It is not cached.' } })
    await until(() => expect(text()).toContain('RUNNING'))
    press('tab', 'tab', 'y', 'return', 'y')
    expect(copied).toEqual([expect.stringMatching(/^https?:/), copied[0]])
    expect(text()).toContain(`Copied ${copied[0]}`.slice(0, 40))
    expect(clipboardSequence('/靴')).toBe(`\u001b]52;c;${Buffer.from('/靴').toString('base64')}\u0007`)
  })

  it('a command is run by its name, a unique beginning of it, or after tab has completed it', async () => {
    const { session, text, press } = start()
    await until(() => expect(text()).toContain('RUNNING'))
    press(':', 'f', 'r')
    expect(text()).toContain(' :fr▏  freeze')
    press('return')
    expect(text()).toContain('FROZEN')
    press(':', 'f', 'r', 'tab', 'return')
    expect(text()).not.toContain('FROZEN')
    press(':', 'c', 'a', 'n', 'return')
    expect(text()).toContain('Cancel this warmup?')
    press('n', ':', 'x', 'return')
    expect(text()).toContain('No command "x"')
    press(':', 'x', 'backspace', 'backspace', 'p')
    expect(session.view.asked?.action).toBe('pause')
  })

  it('a client that may only read is offered no key that changes something', async () => {
    const reading = start({}, false)
    await until(() => expect(reading.text()).toContain('RUNNING'))
    expect(reading.text()).not.toContain('p pause')
    reading.press('p', 'c', '+', ':', 'p', 'a', 'u', 's', 'e', 'return')
    expect(reading.session.view.asked).toBe(null)
    expect(reading.source.count('warmup.concurrency')).toBe(0)
    expect(reading.text()).toContain('No command "pause"')
    const writing = start({}, true)
    await until(() => expect(writing.text()).toContain('p pause'))
  })

  it('+ and - change the concurrency, also when they are held down, and nothing where the run has ended', async () => {
    const gate = Promise.withResolvers<void>()
    const changes: number[] = []
    let concurrency = 4
    const { text, press, state, session } = start({
      'warmup.watch': () => watched(700, { status: state.status, progress: { concurrency } }),
      'warmup.concurrency': async ({ change }: { change: number }) => {
        changes.push(change)
        await gate.promise
        concurrency += change
        return { success: true, progress: { concurrency } }
      },
    })
    await until(() => expect(text()).toContain('concurrency 4'))
    expect(text()).toContain('+ - speed')
    press('+', '=', '+', '-', '+')
    gate.resolve()
    await until(() => expect(text()).toContain('Concurrency 7'))
    await until(() => expect(text()).toContain('concurrency 7'))
    expect(changes).toEqual([1, 2])
    state.status = 'completed'
    session.press('p', 'p')
    await until(() => expect(text()).toContain('COMPLETED'))
    press('+')
    expect(changes).toEqual([1, 2])
    expect(text()).not.toContain('speed')
  })

  it('a key for the next run does not change the one whose request is still in flight', async () => {
    const gate = Promise.withResolvers<void>()
    const asked: unknown[] = []
    let id = 'first'
    const { text, press } = start({
      'warmup.watch': () => watched(700, { progress: { id } }),
      'warmup.concurrency': async (input: unknown) => {
        asked.push(input)
        await gate.promise
        return { success: true, progress: { concurrency: 4 } }
      },
    })
    await until(() => expect(text()).toContain('run first'))
    press('+')
    id = 'second'
    await until(() => expect(text()).toContain('run second'))
    press('-')
    gate.resolve()
    await until(() => expect(asked).toHaveLength(2))
    expect(asked).toEqual([
      { progressId: 'first', change: 1 },
      { progressId: 'second', change: -1 },
    ])
  })

  it('a concurrency that is refused is said, and the next key is tried again', async () => {
    let refused = 0
    const { text, press } = start({
      'warmup.concurrency': () => {
        refused++
        return new Error('only a running or paused warmup can be changed')
      },
    })
    await until(() => expect(text()).toContain('RUNNING'))
    press('-')
    await until(() => expect(text()).toContain('Cannot change the concurrency: only a running'))
    press('-')
    await until(() => expect(refused).toBe(2))
  })

  it('a filter narrows the lists, errors only too', async () => {
    const { text, press } = start()
    await until(() => expect(text()).toContain('RUNNING'))
    press('/', '4', 'x', 'x', 'return')
    expect(text()).toContain('filter: 4xx')
    expect(text()).not.toContain('503 Service')
    expect(text()).toContain('404 Not Found')
    press('escape', 'e')
    expect(text()).toContain('errors only')
    expect(text()).toContain('503 Service')
  })

  it('enter tells all about a row, and what the cache says of it', async () => {
    const { text, press } = start({
      'cache.inspect': { reason: 'It is not cached.', explanation: ['The shop answered 503.'] },
    })
    await until(() => expect(text()).toContain('RUNNING'))
    press('tab', 'tab', 'down', 'return')
    expect(text()).toContain('https://shop.example/fr/nouveautes/collection-1?p=15')
    await until(() => expect(text()).toContain('The shop answered 503.'))
    press('escape')
    expect(text()).toContain('Worker slots')
  })

  it('the help is made from the table of keys', async () => {
    const { text, press } = start()
    await until(() => expect(text()).toContain('RUNNING'))
    press('?')
    for (const words of ['Pause the warmup', 'Resume the paused warmup', 'Freeze or resume', 'Save a snapshot'])
      expect(text(80, 24)).toContain(words)
    // What does not fit can be scrolled to.
    expect(text(80, 20)).not.toContain('Quit')
    press(...Array.from({ length: 9 }, () => 'down'))
    expect(text(80, 20)).toContain('Quit')
    press('home')
    expect(text(80, 20)).toContain('Show the keys')
    press('?')
    expect(text(80, 20)).toContain('RUNNING')
  })

  it('save writes what is known and says where', async () => {
    const { text, press, saved } = start()
    await until(() => expect(text()).toContain('RUNNING'))
    press('s')
    await until(() => expect(text()).toContain('Saved as /reports/pagecache-report-20261121-125140.json'))
    expect(JSON.parse(saved[0]![1])).toMatchObject({
      source: 'prod /srv/shop',
      warmup: { progress: { total_urls: 120_000 } },
    })
  })

  it('q leaves', async () => {
    const { session, press, text } = start()
    await until(() => expect(text()).toContain('RUNNING'))
    press('q')
    await session.left
  })
})

describe('on a terminal', () => {
  it('keys reach the session, and nothing from the shop reaches the terminal as it is', async () => {
    const evil = '\u001b]8;;http://evil\u0007\u001b[31m\u001b[2J\u009b31m\u202e'
    const { session } = start({
      'warmup.watch': watched(700, {
        live: {
          failures: [{ url: `https://shop.example/${evil}`, status: null, error: evil, attempts: 1, at: 0 }],
          origins: [],
        },
      }),
    })
    const { lastFrame, stdin, frames } = render(<Monitor session={session} />)
    await until(() => expect(lastFrame()).toContain('RUNNING'))
    stdin.write('\t')
    stdin.write('\t')
    await until(() => expect(session.view.focus['warmup']).toBe(2))
    stdin.write('\r')
    await until(() => expect(lastFrame()).toContain('In the cache now'))
    for (const frame of frames) {
      expect(frame).not.toContain('\u001b]8')
      expect(frame).not.toContain('\u001b[2J')
      expect(frame).not.toContain('\u009b')
      expect(frame).not.toContain('\u202e')
    }
    expect(lastFrame()).toContain('\\u{1b}[2J')
  })

  it('keys that arrive at once all count, but none of them answers a question that another asked', async () => {
    const { session, source } = start()
    const { lastFrame, stdin } = render(<Monitor session={session} />)
    await until(() => expect(lastFrame()).toContain('RUNNING'))
    stdin.write('f\t')
    await until(() => expect([session.view.frozen !== null, session.view.focus['warmup']]).toEqual([true, 1]))
    stdin.write('/lamp\r')
    await until(() => expect(session.view).toMatchObject({ filter: 'lamp', overlay: { kind: 'none' } }))
    stdin.write('cy')
    await until(() => expect(session.view.overlay.kind).toBe('confirm-cancel'))
    stdin.write('n')
    await until(() => expect(session.view.overlay.kind).toBe('none'))
    expect(source.count('warmup.cancel')).toBe(0)
  })
})
