import { afterEach, expect, it, vi } from 'vitest'
import { monitor } from '../../src/cli/monitor.ts'
import { system } from '../tui/fake-system.ts'
import { FakeSource } from '../tui/fake-source.ts'

afterEach(() => vi.restoreAllMocks())

/** Runs `monitor --no-tui` until it has read the system once. */
async function linesOf(quiet: boolean) {
  let stdout = ''
  const told: string[] = []
  const end = new AbortController()
  const source = new FakeSource(system())
  const perform = ({ name }: { name: string }, input: object) => source.perform(name, input)
  vi.spyOn(process.stdout, 'write').mockImplementation(((text: unknown) => ((stdout += String(text)), true)) as never)
  const session = { performer: { perform }, signal: end.signal, quiet, json: false, sourceName: 'here' }
  const ended = monitor({ ...session, tell: (line: string) => void told.push(line) } as never, { tui: false })
  setImmediate(() => end.abort())
  await expect(ended).rejects.toThrow('Interrupted.')
  vi.restoreAllMocks()
  return { stdout, told }
}

it('prints the state of the system on stdout where there is no screen', async () => {
  const { stdout, told } = await linesOf(false)
  expect(stdout).toMatch(/^visitors: .*; queue: 412 waiting, 5 in progress, 2 failed, 2 workers.*\n$/)
  expect(told).toEqual([])
})

it('prints nothing with --quiet', async () => {
  expect(await linesOf(true)).toEqual({ stdout: '', told: [] })
})
