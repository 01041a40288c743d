import { cleanup } from 'ink-testing-library'
import { onTestFinished } from 'vitest'
import { Session } from '../../src/tui/session.ts'
import { toText } from '../../src/tui/text/line.ts'
import { warmupTab } from '../../src/tui/tabs/warmup/tab.ts'
import { FakeSource, watched } from './fake-source.ts'

/** A session on a fake source with a clock that a test sets. `mayWrite` null: nothing limits the client. Nothing is asked again unless the test hurries it. */
export function start(answers: Record<string, unknown> = {}, mayWrite: boolean | null = null) {
  const state = { now: 1000, status: 'running' as 'running' | 'paused' | 'cancelled' | 'completed' }
  const source = new FakeSource({ 'warmup.watch': () => watched(700, { status: state.status }), ...answers })
  if (mayWrite !== null) Object.assign(source, { mayWrite: async () => mayWrite })
  const saved: [string, string][] = []
  const copied: string[] = []
  const session = new Session({
    source,
    tabs: [warmupTab(null)],
    leaving: () => 'leave; the warmup continues',
    untilEnd: false,
    now: () => state.now,
    time: () => Date.parse('2026-11-21T12:51:40Z'),
    random: () => 0.5,
    copy: (text) => void copied.push(text),
    save: async (file, content) => (saved.push([file, content]), `/reports/${file}`),
  })
  onTestFinished(() => {
    cleanup()
    session.stop()
  })
  session.start()
  const text = (columns = 120, rows = 40) => session.screen(columns, rows).map(toText).join('\n')
  return {
    session,
    source,
    state,
    saved,
    copied,
    text,
    press: (...keys: string[]) => keys.forEach((key) => session.press(key, key.length === 1 ? key : '')),
  }
}
