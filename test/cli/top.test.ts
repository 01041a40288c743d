import { afterEach, expect, it, vi } from 'vitest'
import { top } from '../../src/cli/top.ts'
import type { Follower } from '../../src/operations/operation.ts'

afterEach(() => {
  vi.restoreAllMocks()
  vi.unstubAllEnvs()
})

it.each([true, false])('prints nothing of a remote daemon that controls the terminal (JSON: %s)', async (json) => {
  const evil = '\u001b]0;title\u0007\u009b31m\u202e\r'
  const request = Object.fromEntries(
    ['at', 'method', 'result', 'reason', 'status', 'ms', 'type', 'salesChannelId', 'host', 'path'].map((name) => [
      name,
      `2026-11-21T12:51:40${evil}`,
    ]),
  )
  let printed = ''
  const write = (text: unknown) => ((printed += String(text)), true)
  vi.spyOn(process.stdout, 'write').mockImplementation(write as never)
  const tell = (message: string) => void write(`${message}\n`)
  const perform = async (_: unknown, __: unknown, { emit }: Follower) => {
    await emit({ kind: 'processes', processes: evil })
    await emit({ kind: 'requests', requests: [request], notShown: evil })
  }
  const session = { performer: { perform }, signal: new AbortController().signal, tell, sourceName: 'remote' }
  await top(session as never, { filter: {}, json, tui: false, limit: 1 })
  vi.restoreAllMocks()
  expect(printed).toContain('2026')
  // oxlint-disable-next-line no-control-regex -- controls are what is looked for
  expect(printed).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u202e]/)
})

it('prints a result of a remote daemon that it does not know', async () => {
  const request = {
    at: '2026-11-21T12:51:40.000Z',
    method: 'GET',
    result: 'constructor',
    reason: null,
    status: 200,
    ms: 1,
    type: 'cms',
  }
  let printed = ''
  vi.spyOn(process.stdout, 'write').mockImplementation(((text: unknown) => ((printed += String(text)), true)) as never)
  const perform = async (_: unknown, __: unknown, { emit }: Follower) => {
    await emit({ kind: 'requests', requests: [{ ...request, host: 'a', path: '/' }], notShown: 0 })
  }
  const session = { performer: { perform }, signal: new AbortController().signal, tell: () => {}, sourceName: 'remote' }
  vi.stubEnv('FORCE_COLOR', '1')
  await top(session as never, { filter: {}, json: false, tui: false, limit: 1 })
  vi.restoreAllMocks()
  expect(printed).toContain('constructor')
})

it('prints no request with --quiet, except for --json', async () => {
  const request = { at: '', method: 'GET', result: 'hit', reason: null, status: 200, ms: 1, type: 'cms', host: 'a' }
  let printed = ''
  vi.spyOn(process.stdout, 'write').mockImplementation(((text: unknown) => ((printed += String(text)), true)) as never)
  const perform = async (_: unknown, __: unknown, { emit }: Follower) => {
    await emit({ kind: 'processes', processes: 1 })
    await emit({ kind: 'requests', requests: [{ ...request, path: '/' }], notShown: 0 })
  }
  const session = { performer: { perform }, signal: new AbortController().signal, sourceName: 'here', quiet: true }
  // A pipe gets lines of JSON without --json too.
  await top({ ...session, json: false } as never, { filter: {}, json: true, tui: false, limit: 1 })
  const withoutJson = printed
  await top({ ...session, json: true } as never, { filter: {}, json: true, tui: false, limit: 1 })
  vi.restoreAllMocks()
  expect([withoutJson, printed.split('\n').length]).toEqual(['', 3])
})
