import { expect, it, vi } from 'vitest'
import { warnNotReloaded } from '../../src/daemon/reloaded.ts'
import type { Log } from '../../src/daemon/log.ts'

it('logs all faults of a configuration on one line, and keeps them for other commands', () => {
  const warn = vi.fn<(message: string) => void>()
  const message =
    'The configuration has 2 errors:\n  a (pagecache.yaml:1): unknown key\n  b (pagecache.yaml:2): unknown key'
  expect(warnNotReloaded({ warn } as unknown as Log, message)).toEqual({ loaded: null, error: message })
  expect(warn.mock.calls).toEqual([
    [
      'The configuration was not reloaded; the previous one stays in use: The configuration has 2 errors: a (pagecache.yaml:1): unknown key; b (pagecache.yaml:2): unknown key',
    ],
  ])
})
