/**
 * Measures the start-up time of the command line as a multiple of `node -e 0`. Rounds are interleaved, so that other load on the machine
 * affects every candidate; medians are compared.
 *
 *     npm run build && npx node bench/startup.ts
 */
import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { median, withRange } from './lib/statistics.ts'

const rounds = 15
const bin = fileURLToPath(new URL('../bin/run.js', import.meta.url))
const projectDir = mkdtempSync(join(tmpdir(), 'pagecache-bench-'))

const candidates = [
  { name: 'node -e 0', args: ['-e', '0'], target: 1 },
  { name: 'pagecache --version', args: [bin, '--version'], target: 1.5 },
  {
    name: 'pagecache cache:stats --json',
    args: [bin, 'cache:stats', '--json', '--project-dir', projectDir],
    target: 3.5,
  },
]

/** Run time of the process, in milliseconds. */
function measure(args: readonly string[]): number {
  const started = performance.now()
  const { status, stderr } = spawnSync(process.execPath, args, { encoding: 'utf8' })
  if (status !== 0) throw new Error(`${args.join(' ')} exited with ${status}: ${stderr}`)
  return performance.now() - started
}

try {
  const times = candidates.map((): number[] => [])
  // The first round fills the compile cache and the system's page cache, so it is discarded.
  for (let round = 0; round <= rounds; round += 1) {
    for (const [index, { args }] of candidates.entries()) {
      const time = measure(args)
      if (round > 0) times[index]?.push(time)
    }
  }
  const bare = median(times[0]!)
  for (const [index, { name, target }] of candidates.entries()) {
    const own = times[index]!
    console.log(
      `${name.padEnd(30)} ${`${withRange(own, 0)} ms`.padEnd(20)} ${(median(own) / bare).toFixed(2)} x   (at most ${target.toFixed(1)} x)`,
    )
  }
} finally {
  rmSync(projectDir, { recursive: true, force: true })
}
