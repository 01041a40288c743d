import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { expect, it } from 'vitest'

const module = new URL('../../src/lib/steady-heap.ts', import.meta.url)

/** The size of the young generation in MiB of a process that has kept many objects for a short time. */
async function youngAfter(code: string): Promise<number> {
  const script = `
    const { limitYoungGeneration, withSteadyHeap } = await import(${JSON.stringify(module.href)})
    ${code}
    const kept = []
    for (let turn = 0; turn < 2000; turn++) {
      for (let n = 0; n < 2000; n++) kept[(turn * 2000 + n) % 300_000] = { turn, list: [n] }
      await new Promise((resolve) => setImmediate(resolve))
    }
    const { getHeapSpaceStatistics } = await import('node:v8')
    console.log(getHeapSpaceStatistics().find(({ space_name }) => space_name === 'new_space').space_size / 2 ** 20)`
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '--eval', script])
  return Number(stdout)
}

it('ends the growth of the young generation, also after work with a steady heap', async () => {
  const unlimited = await youngAfter('')
  expect(await youngAfter('limitYoungGeneration()')).toBeLessThan(unlimited)
  const both = `limitYoungGeneration()
    const release = Promise.withResolvers()
    void withSteadyHeap(() => release.promise)
    setTimeout(release.resolve, 50)`
  expect(await youngAfter(both)).toBeLessThan(unlimited)
})

it('lets a young generation that V8 shrank grow again', async () => {
  const script = `
    const { limitYoungGeneration } = await import(${JSON.stringify(module.href)})
    const { getHeapSpaceStatistics } = await import('node:v8')
    const { setImmediate: turn, setTimeout: pause } = await import('node:timers/promises')
    limitYoungGeneration()
    const half = () => {
      const young = getHeapSpaceStatistics().find(({ space_name }) => space_name === 'new_space')
      return (young.space_used_size + young.space_available_size) / 2 ** 20
    }
    const kept = []
    async function work() {
      for (let round = 0; round < 1000; round++) {
        for (let n = 0; n < 2000; n++) kept[(round * 2000 + n) % 100_000] = { round, list: [n] }
        await turn()
      }
      return half()
    }
    const first = await work()
    let idle = first
    for (let tries = 0; idle >= 2 && tries < 200; tries++) {
      await pause(100)
      gc({ type: 'minor' })
      idle = half()
    }
    console.log([first, idle, await work()].join())`
  const argv = ['--expose-gc', '--input-type=module', '--eval', script]
  const { stdout } = await promisify(execFile)(process.execPath, argv)
  const [first, idle, again] = stdout.split(',').map(Number)
  expect(first).toBeGreaterThan(2)
  expect(idle).toBeLessThan(2)
  expect(again).toBeGreaterThan(2)
  expect(again).toBeLessThan(16)
})

it('lets the old generation grow little beyond what is in use', async () => {
  const peakAfter = async (code: string) => {
    const script = `
      const { limitOldGeneration } = await import(${JSON.stringify(module.href)})
      ${code}
      const kept = []
      let peak = 0
      for (let turn = 0; turn < 4000; turn++) {
        for (let n = 0; n < 1000; n++) kept[(turn * 1000 + n) % 500_000] = { turn, list: [n] }
        peak = Math.max(peak, process.memoryUsage().heapTotal)
      }
      console.log(peak / 2 ** 20)`
    return Number((await promisify(execFile)(process.execPath, ['--input-type=module', '--eval', script])).stdout)
  }
  expect(await peakAfter('limitOldGeneration()')).toBeLessThan(0.9 * (await peakAfter('')))
})

it('lets the old generation grow further while the whole heap is rarely collected', async () => {
  const script = `
    import { syncBuiltinESMExports } from 'node:module'
    import v8 from 'node:v8'
    import { setTimeout as pause } from 'node:timers/promises'
    const set = []
    v8.setFlagsFromString = (flag) => set.push(Number(flag.split('=')[1]))
    syncBuiltinESMExports()
    const { limitOldGeneration } = await import(${JSON.stringify(module.href)})
    limitOldGeneration()
    for (const ms of [50, 50, 5100, 50]) {
      gc()
      gc({ type: 'minor' })
      await pause(ms)
    }
    console.log(set.join())`
  const argv = ['--expose-gc', '--input-type=module', '--eval', script]
  const { stdout } = await promisify(execFile)(process.execPath, argv)
  const [start, first, , soon, later] = stdout.split(',').map(Number)
  expect([start, soon]).toEqual([25, 25])
  expect([first, later]).toEqual([120, 120])
})

it('measures how rarely the heap is collected by how far it could grow meanwhile', async () => {
  const script = `
    import hooks from 'node:perf_hooks'
    import { syncBuiltinESMExports } from 'node:module'
    import v8 from 'node:v8'
    let report
    hooks.PerformanceObserver = class { constructor(callback) { report = callback } observe() {} }
    let slack = 0
    v8.setFlagsFromString = (flag) => (slack = Number(flag.split('=')[1]))
    syncBuiltinESMExports()
    const { limitOldGeneration } = await import(${JSON.stringify(module.href)})
    limitOldGeneration()
    const kind = hooks.constants.NODE_PERFORMANCE_GC_MAJOR
    // What a limit allows for is used up at a steady rate; V8 sets the next limit when a collection ends.
    const slacksAt = (secondsPerPercent) => {
      let limit = slack
      return Array.from({ length: 8 }, () => {
        now += limit * secondsPerPercent * 1000
        limit = slack
        report({ getEntries: () => [{ startTime: now, detail: { kind } }] })
        return slack
      })
    }
    let now = 0
    console.log(JSON.stringify([slacksAt(0.1), slacksAt(0.3), slacksAt(0.1)]))`
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '--eval', script])
  const settled = (JSON.parse(stdout) as number[][]).map((slacks) => slacks.slice(2))
  expect(settled).toEqual([25, 120, 25].map((slack) => Array.from({ length: 6 }, () => slack)))
})

it('collects the young generation without helper threads', async () => {
  /** Milliseconds that helpers have spent on it. */
  const helpedAfter = async (code: string) => {
    const script = `
      const { collectYoungAlone } = await import(${JSON.stringify(module.href)})
      ${code}
      const kept = []
      for (let n = 0; n < 3_000_000; n++) kept[n % 100_000] = { n, list: [n] }`
    const argv = ['--trace-gc-nvp', '--input-type=module', '--eval', script]
    const { stdout } = await promisify(execFile)(process.execPath, argv, { maxBuffer: 2 ** 26 })
    const times = [...stdout.matchAll(/gc=s .*background\.scavenge\.parallel=([\d.]+)/g)].map(([, time]) =>
      Number(time),
    )
    expect(times.length).toBeGreaterThan(5)
    return times.reduce((sum, time) => sum + time, 0)
  }
  expect(await helpedAfter('collectYoungAlone()')).toBe(0)
  expect(await helpedAfter('')).toBeGreaterThan(0)
})
