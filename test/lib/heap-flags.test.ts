import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { expect, it } from 'vitest'

const module = (name: string) => JSON.stringify(new URL(`../../src/lib/${name}.ts`, import.meta.url).href)

/** Runs code in a process whose V8 compiled a script before. Its calls of `accepts` tell whether V8 accepts that compiled script. */
async function accepted(code: string): Promise<boolean[]> {
  const script = `
    const { setHeapFlag, withDefaultFlags } = await import(${module('heap-flags')})
    const { withYoungGeneration } = await import(${module('young-generation')})
    const { once } = await import('node:events')
    const { Script } = await import('node:vm')
    const { Worker } = await import('node:worker_threads')
    const cachedData = new Script('1 + 1').createCachedData()
    const results = []
    // Of the text, V8 compares only the length; it would find the same text in its memory.
    const accepts = () => results.push(!new Script('1 + ' + (results.length + 2), { cachedData }).cachedDataRejected)
    ${code}
    console.log(JSON.stringify(results))`
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '--eval', script])
  return JSON.parse(stdout) as boolean[]
}

it('V8 accepts compiled code while something is loaded, and the flags count again afterwards', async () => {
  const code = `
    setHeapFlag('heap-growing-percent', 25)
    setHeapFlag('semi-space-growth-factor', 1)
    accepts()
    const [one, other] = [withDefaultFlags(), withDefaultFlags()]
    accepts()
    setHeapFlag('heap-growing-percent', 50)
    one()
    one()
    accepts()
    other()
    accepts()`
  expect(await accepted(code)).toEqual([false, true, true, false])
})

it('a thread loads its code with the flags of the process at their defaults', async () => {
  const code = `
    setHeapFlag('heap-growing-percent', 25)
    const program = \`
      const { parentPort } = await import('node:worker_threads')
      parentPort.once('message', () => process.exit())
      parentPort.postMessage('loaded')\`
    const worker = withYoungGeneration(8, () => new Worker(program, { eval: true }))
    accepts()
    await once(worker, 'message')
    accepts()
    worker.postMessage('end')
    await once(withYoungGeneration(8, () => new Worker('process.exit()', { eval: true })), 'exit')
    accepts()`
  expect(await accepted(code)).toEqual([true, false, false])
})
