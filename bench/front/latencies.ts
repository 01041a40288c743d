import { setTimeout as pause } from 'node:timers/promises'
import { exchange } from '../../test/helpers/exchange.ts'
import type { Round } from '../hit-under-load.ts'
import type { Contender, ContenderName } from '../lib/contenders.ts'
import { beforeOthers, whenIdle } from '../lib/cores.ts'
import { category } from '../lib/fast-shop.ts'
import type { Latencies, Visits } from '../lib/latency-client.ts'
import type { Storm } from '../lib/purge-client.ts'
import { runFile } from '../lib/run-file.ts'
import { passed } from './misses.ts'
import { caches, hit, portOf, type Arrangement, type Shape } from './shape.ts'

const hitsPerSecond = 300
const besidePerSecond = 500
/** In seconds, until V8 has compiled what the other load needs. A daemon runs for months. */
const warmFor = 30
const paths = Array.from({ length: 100 }, (_, n) => `${category}visited-${n}`)

/** Hits at a fixed rate, alone and during other load. */
export function latencyShapes(arrangement: Arrangement): Shape[] {
  const { unseen } = arrangement
  const paced = (contender: Contender, seconds: number, changes: Partial<Visits>) => ({
    ...visits(contender, seconds),
    perSecond: besidePerSecond,
    connections: 32,
    expect: '^',
    ...changes,
  })
  return [
    beside(arrangement, `${besidePerSecond} misses/s`, caches, (contender, seconds) => [
      'lib/latency-client.ts',
      paced(contender, seconds, { paths: [unseen()], fresh: '' }),
    ]),
    beside(arrangement, `${besidePerSecond} pass-throughs/s`, caches, (contender, seconds) => {
      const { path, headers } = passed('GET', '20 kB')
      return ['lib/latency-client.ts', paced(contender, seconds, { paths: [path], headers })]
    }),
    beside(arrangement, 'a purge storm', [], (contender, seconds) => [
      'lib/purge-client.ts',
      storm(contender, seconds),
    ]),
    besideOperators(arrangement),
  ]
}

function visits(contender: Contender, seconds: number): Visits {
  const { headers } = hit('gzip')
  const expect = contender.hit.source
  return { port: portOf(contender), paths, headers, perSecond: hitsPerSecond, seconds, connections: 8, expect }
}

function storm(contender: Contender, seconds: number): Storm {
  return { port: portOf(contender), first: 0, count: 1e9, connections: 16, pages: null, seconds }
}

function beside(
  { seconds }: Arrangement,
  what: string,
  rivals: readonly ContenderName[],
  work: (contender: Contender, seconds: number) => [file: string, argument: object],
): Shape {
  const latencies = (contender: Contender, duration: number) =>
    runFile<Latencies>('lib/latency-client.ts', [JSON.stringify(visits(contender, duration))], {
      command: beforeOthers(),
    })
  const besideWork = (contender: Contender, duration: number) => {
    const [file, argument] = work(contender, duration + 2)
    return during(file, argument, () => latencies(contender, duration))
  }
  return {
    name: `99th percentile of hits beside ${what}`,
    unit: '× quiet',
    rivals,
    goal: { atMost: 2 },
    async prepare(contender) {
      const { headers } = hit('gzip')
      for (const path of [...paths, ...paths]) await exchange(contender.url(path, 'gzip'), { headers })
      await besideWork(contender, warmFor)
    },
    async measure(contender) {
      const quiet = await latencies(contender, seconds)
      const busy = await besideWork(contender, seconds)
      return { value: busy.p99 / quiet.p99, note: `${quiet.p99.toFixed(2)} → ${busy.p99.toFixed(2)} ms` }
    },
  }
}

/** Measures while a program runs, and stops that. It must not fail before. */
async function during<Result>(file: string, argument: object, measure: () => Promise<Result>): Promise<Result> {
  const over = new AbortController()
  const options = { command: [...whenIdle, process.execPath], signal: over.signal }
  const work = runFile(file, [JSON.stringify(argument)], options).catch((error: unknown) => {
    if (!over.signal.aborted) throw error
  })
  await pause(500)
  const failure = new Promise<never>((_, reject) => work.catch(reject))
  try {
    return await Promise.race([measure(), failure])
  } finally {
    over.abort()
    await work
  }
}

/** Measured by bench/hit-under-load.ts with a daemon of its own, all rounds before the first one is reported. */
function besideOperators({ seconds, rounds }: Arrangement): Shape {
  let measured: Round[] = []
  return {
    name: '99th percentile of hits beside statistics, clears and warmups',
    unit: '× quiet',
    rivals: [],
    goal: { atMost: 2 },
    async prepare() {
      const given = ['--rounds', String(rounds), '--seconds', String(seconds), '--json']
      measured = (await runFile<{ rounds: Round[] }>('hit-under-load.ts', given)).rounds
    },
    async measure() {
      const { idle, commands, busy } = measured.shift()!
      const shown = [idle, commands, busy].map(({ p99 }) => p99.toFixed(2))
      return { value: busy.p99 / idle.p99, note: `${shown[0]} → ${shown[2]} ms, beside other commands ${shown[1]} ms` }
    },
  }
}
