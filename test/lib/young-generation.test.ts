import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { expect, it } from 'vitest'

const module = new URL('../../src/lib/young-generation.ts', import.meta.url)

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
