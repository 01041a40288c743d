import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { describe, expect, it } from 'vitest'

const module = new URL('../../src/lib/priority.ts', import.meta.url).href

/** Runs code in a process with all kinds of threads. Returns the nice values of its threads by their names. */
async function nicesAfter(code: string, nice: number): Promise<Record<string, number[]>> {
  const script = `
    import { readdirSync, readFileSync } from 'node:fs'
    import { once } from 'node:events'
    import { getPriority } from 'node:os'
    import { Worker } from 'node:worker_threads'
    import { lowerHelperThreads } from ${JSON.stringify(module)}
    const worker = new Worker(new URL('data:text/javascript,' + encodeURIComponent(\`
      import { parentPort } from 'node:worker_threads'
      import { yieldToVisitors } from ${JSON.stringify(module)}
      yieldToVisitors()
      parentPort.postMessage(null)
      parentPort.on('message', () => parentPort.close())\`)))
    await once(worker, 'message')
    ${code}
    const nices = {}
    for (const thread of readdirSync('/proc/self/task')) {
      const name = readFileSync('/proc/self/task/' + thread + '/comm', 'latin1').trim();
      (nices[name] ??= []).push(getPriority(Number(thread)))
    }
    console.log(JSON.stringify(nices))
    worker.postMessage(null)`
  const argv = ['-n', String(nice), process.execPath, '--input-type=module', '--eval', script]
  const { stdout } = await promisify(execFile)('nice', argv)
  return JSON.parse(stdout) as Record<string, number[]>
}

describe.runIf(process.platform === 'linux')('priority of threads', () => {
  it('puts worker and helper threads behind the thread that serves visitors', async () => {
    const nices = await nicesAfter('await lowerHelperThreads()', 3)
    expect(nices).toMatchObject({ MainThread: [3], WorkerThread: [8], 'libuv-worker': [8, 8, 8, 8] })
    expect(nices['V8Worker']?.length).toBeGreaterThan(0)
    expect(new Set(nices['V8Worker'])).toEqual(new Set([8]))
  })

  it('lowers them once, and to the lowest priority at most', async () => {
    const nices = await nicesAfter('await lowerHelperThreads(); await lowerHelperThreads()', 15)
    expect(nices).toMatchObject({ MainThread: [15], WorkerThread: [19], 'libuv-worker': [19, 19, 19, 19] })
    expect(new Set(nices['V8Worker'])).toEqual(new Set([19]))
  })
})

it('lets only threads sleep that visitors do not wait for', async () => {
  const script = `
    let calls = 0
    const { wait } = Atomics
    Atomics.wait = (...given) => ((calls += 1), wait(...given))
    const { letVisitorsIn, yieldToVisitors } = await import(${JSON.stringify(module)})
    letVisitorsIn()
    const before = calls
    yieldToVisitors()
    for (let n = 0; n < 3; n++) letVisitorsIn()
    console.log(JSON.stringify([before, calls]))`
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '--eval', script])
  expect(JSON.parse(stdout)).toEqual([0, 3])
})
