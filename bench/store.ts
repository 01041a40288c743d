/**
 * Claim: a million pages cost hardly more than ten thousand.
 *
 *   npx node bench/store.ts [--small 10000] [--big 1000000] [--rounds 1] [--json]
 *
 * For each size, fills a store in a separate process (small bodies, three tags per page), reopens it and measures: memory of a process
 * that has it open, look-up, statistics, a purge of 1 % by tag, clear by type, clear. Operations that can be
 * repeated are reported as medians. With several rounds, prints medians and ranges. Growth is the larger store's value divided by the smaller one's.
 */
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { median, withRange } from './lib/statistics.ts'
import type { Measured } from './lib/store-worker.ts'

const { values } = parseArgs({
  options: {
    small: { type: 'string', default: '10000' },
    big: { type: 'string', default: '1000000' },
    rounds: { type: 'string', default: '1' },
    json: { type: 'boolean', default: false },
  },
})

const lines: readonly (readonly [name: keyof Measured, title: string])[] = [
  ['fillSeconds', 'filling, s'],
  ['rssMegabytes', 'memory of the process, MB'],
  ['openMilliseconds', 'opening, ms'],
  ['findMicroseconds', 'look-up, µs'],
  ['pollMicroseconds', 'poll, µs'],
  ['countersMicroseconds', 'statistics, µs'],
  ['putMicroseconds', 'store a page, µs'],
  ['purgeMilliseconds', 'purge of 1 % by tag, ms'],
  ['clearTypeMilliseconds', 'clear by type (a fifth), ms'],
  ['clearMilliseconds', 'clear, ms'],
]

const small: Measured[] = []
const big: Measured[] = []
for (let round = 0; round < Number(values.rounds); round += 1) {
  small.push(await measure(Number(values.small)))
  big.push(await measure(Number(values.big)))
  console.error(`round ${round + 1}: ${JSON.stringify(big.at(-1))}`)
}
if (values.json) console.log(JSON.stringify({ small, big }))
else print()

async function measure(pages: number): Promise<Measured> {
  const directory = await mkdtemp(join(tmpdir(), 'pagecache-bench-'))
  try {
    const filled = await run('fill', directory, pages)
    const looked = await run('measure', directory, pages)
    return { ...looked, ...filled } as Measured
  } finally {
    // The store's deletion in the background may still be using this directory.
    await rm(directory, { recursive: true, force: true, maxRetries: 20, retryDelay: 500 })
  }
}

/** Runs in a separate process, so that memory left over from filling is not measured. */
async function run(part: 'fill' | 'measure', directory: string, pages: number): Promise<Partial<Measured>> {
  const script = new URL('lib/store-worker.ts', import.meta.url)
  const child = fork(script, [part, directory, String(pages)], { execArgv: ['--expose-gc'] })
  const answered = once(child, 'message')
  const failed = once(child, 'exit').then(([code]) => {
    if (code !== 0) throw new Error(`${part} of ${pages} pages failed`)
  })
  const [value] = (await Promise.race([answered, failed.then(() => answered)])) as [Partial<Measured>]
  await failed
  return value
}

function print(): void {
  const columns = (cells: readonly string[]) =>
    cells.map((cell, n) => (n === 0 ? cell.padEnd(28) : cell.padStart(32))).join('')
  console.log(columns(['', values.small, values.big, 'growth']))
  for (const [name, title] of lines) {
    const [few, many] = [small, big].map((rounds) => rounds.map((round) => round[name])) as [number[], number[]]
    console.log(columns([title, withRange(few, 1), withRange(many, 1), (median(many) / median(few)).toFixed(1)]))
  }
}
