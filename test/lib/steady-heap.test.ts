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
    for (let tries = 0; idle > first / 2 && tries < 200; tries++) {
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
  expect(again).toBeLessThan(8)
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

/** The young generation in MiB of threads, each started by one of these expressions. */
async function youngOfThreads(...starts: string[]): Promise<number[]> {
  const script = `
    const { withYoungGeneration } = await import(${JSON.stringify(module.href)})
    const { Worker } = await import('node:worker_threads')
    const { once } = await import('node:events')
    const report = \`
      const { parentPort } = await import('node:worker_threads')
      const { getHeapSpaceStatistics } = await import('node:v8')
      parentPort.postMessage(getHeapSpaceStatistics().find((each) => each.space_name === 'new_space').space_size / 2 ** 20)\`
    const start = () => new Worker(report, { eval: true })
    const failing = () => {
      throw new Error('no thread')
    }
    const sizes = []
    for (const worker of [${starts.join()}])
      try {
        sizes.push((await once(worker(), 'message'))[0])
      } catch {}
    console.log(sizes.join())`
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '--eval', script])
  return stdout.split(',').map(Number)
}

it('gives a thread its young generation from the start, and no thread that is started later', async () => {
  const [large, usual] = await youngOfThreads('() => withYoungGeneration(8, start)', 'start')
  expect(large).toBeGreaterThanOrEqual(8)
  expect(usual).toBeLessThan(8)
})

it('keeps the young generation of a thread at its size, however that of the process grows', async () => {
  const script = `
    const { withYoungGeneration } = await import(${JSON.stringify(module.href)})
    const { Worker } = await import('node:worker_threads')
    const { once } = await import('node:events')
    const { setFlagsFromString } = await import('node:v8')
    setFlagsFromString('--semi-space-growth-factor=4')
    const work = \`
      const { parentPort } = await import('node:worker_threads')
      const { getHeapSpaceStatistics } = await import('node:v8')
      const kept = []
      for (let n = 0; n < 3_000_000; n++) kept[n % 100_000] = { n, list: [n] }
      const young = getHeapSpaceStatistics().find((each) => each.space_name === 'new_space')
      parentPort.postMessage((young.space_used_size + young.space_available_size) / 2 ** 20)\`
    const start = (resourceLimits) => new Worker(work, { eval: true, resourceLimits })
    console.log((await once(withYoungGeneration(1, start), 'message'))[0], (await once(start(), 'message'))[0])`
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '--eval', script])
  const [kept, free] = stdout.split(' ').map(Number)
  expect(kept).toBeLessThan(2)
  expect(free).toBeGreaterThan(2)
})

it('leaves other threads their young generation after a thread could not be started', async () => {
  const sizes = await youngOfThreads('() => withYoungGeneration(8, failing)', 'start')
  expect(sizes).toHaveLength(1)
  expect(sizes[0]).toBeLessThan(8)
})
