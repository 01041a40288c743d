/**
 * Claim: an idle daemon takes less than 0.5 % of a core. Also the processor time of a daemon's first start, as a multiple of `node -e 0`.
 *
 *     npm run build && npx node bench/idle.ts [--rounds 5] [--seconds 20] [--program /another/build/bin/run.js]
 *
 * Starts a daemon in an empty project, waits until it answers and its threads have started, and measures it without requests. Sums the
 * run time of all threads, which other programs on the machine affect less than elapsed time. Linux only.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as pause } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { startDaemon } from '../test/helpers/daemon.ts'
import { median, withRange } from './lib/statistics.ts'

const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '5' },
    seconds: { type: 'string', default: '20' },
    program: { type: 'string' },
  },
})
const origin = 'http://127.0.0.1:9'
/** Milliseconds until a daemon is idle after its first response. */
const settling = 1500

/** Run time of all threads of a process so far, in milliseconds. */
function runTimeOf(pid: number): number {
  const tasks = readdirSync(`/proc/${pid}/task`).map((task) => `/proc/${pid}/task/${task}/schedstat`)
  return tasks.reduce((sum, file) => sum + Number(readFileSync(file, 'utf8').split(' ')[0]) / 1e6, 0)
}

/** Run time of a Node process that does nothing, in milliseconds. */
async function measureBare(): Promise<number> {
  const child = spawn(process.execPath, ['-e', 'process.stdout.write("."); setTimeout(() => {}, 10_000)'])
  await once(child.stdout, 'data')
  const time = runTimeOf(child.pid!)
  child.kill()
  return time
}

const starts: number[] = []
const bare: number[] = []
const idle: number[] = []
for (let round = 0; round < Number(values.rounds); round += 1) {
  bare.push(await measureBare())
  const daemon = await startDaemon({ args: ['--origin', origin], ...(values.program && { program: values.program }) })
  await pause(settling)
  const started = runTimeOf(daemon.pid)
  const since = performance.now()
  starts.push(started)
  await pause((Number(values.seconds) * 1000) / Number(values.rounds))
  idle.push((100 * (runTimeOf(daemon.pid) - started)) / (performance.now() - since))
  await daemon.stop()
}

console.log(`node -e 0                ${withRange(bare, 0)} ms`)
console.log(`first start of a daemon  ${withRange(starts, 0)} ms, ${(median(starts) / median(bare)).toFixed(1)} x`)
console.log(`idle daemon              ${withRange(idle, 2)} % of a core   (at most 0.5 %)`)
