/**
 * The terminal UI on a source that makes its figures up, for tests that look at a real terminal:
 * `node --import tsx test/tui/play.tsx [--crash]`. With `--crash` the source throws an uncaught error after two seconds.
 */
import { tmpdir } from 'node:os'
import { runTui } from '../../src/tui/run.tsx'
import { warmupTab } from '../../src/tui/tabs/warmup/tab.ts'
import { FakeSource, watched } from './fake-source.ts'

const crash = process.argv.includes('--crash')
const started = performance.now()
let status: 'running' | 'paused' | 'cancelled' = 'running'
const source = new FakeSource({
  'warmup.watch': () => {
    const seconds = 700 + (performance.now() - started) / 1000
    if (crash && seconds > 702)
      setImmediate(() => {
        throw new Error('the fake source broke')
      })
    return watched(seconds, { status })
  },
  'warmup.pause': () => {
    status = 'paused'
    return { success: true }
  },
  'warmup.resume': () => {
    status = 'running'
    return { success: true }
  },
  'warmup.cancel': () => {
    status = 'cancelled'
    return { success: true }
  },
  'cache.inspect': () => ({
    success: true,
    reason: 'stored and fresh',
    explanation: ['It will be asked for again in 3 min.'],
  }),
})
const abort = new AbortController()
for (const name of ['SIGINT', 'SIGTERM'] as const) process.once(name, () => abort.abort())
const { error } = await runTui({
  source,
  tabs: [warmupTab(null)],
  leaving: () => 'leave; the warmup continues',
  untilEnd: false,
  signal: abort.signal,
  directory: tmpdir(),
  stdin: process.stdin,
  stdout: process.stdout,
})
process.stdout.write(error === null ? 'left the screen\n' : `broke: ${String(error)}\n`)
process.exit(error === null ? 0 : 1)
