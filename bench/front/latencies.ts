import { setTimeout as pause } from 'node:timers/promises'
import { exchange } from '../../test/helpers/exchange.ts'
import type { Round } from '../hit-under-load.ts'
import type { Contender, ContenderName } from '../lib/contenders.ts'
import { beforeOthers, whenIdle } from '../lib/cores.ts'
import { category, expiring, slow } from '../lib/fast-shop.ts'
import type { Latencies, Visits } from '../lib/latency-client.ts'
import type { Storm } from '../lib/purge-client.ts'
import { runFile } from '../lib/run-file.ts'
import { littleMemory, pagesOnDisk } from './hits.ts'
import { passed } from './misses.ts'
import { cached, caches, hit, portOf, type Arrangement, type Shape } from './shape.ts'

const hitsPerSecond = 300
const besidePerSecond = 500
/** In seconds, until V8 has compiled what the other load needs. A daemon runs for months. */
const warmFor = 30
const paths = numbered(100, `${category}visited-`)

/** A program of `bench` that makes the other load, and its argument. */
type Work = [file: string, argument: object]

/** Hits at a fixed rate, alone and during other load. */
export function latencyShapes(arrangement: Arrangement): Shape[] {
  const { unseen } = arrangement
  const { headers } = hit('gzip')
  const besideVisits = (
    what: string,
    changes: (contender: Contender) => Partial<Visits> | Promise<Partial<Visits>>,
    config?: Shape['config'],
  ) => ({
    ...beside(arrangement, `${besidePerSecond} ${what}/s`, caches, async (contender, seconds) => {
      const usual = { ...visits(contender, seconds), perSecond: besidePerSecond, connections: 32, expect: '^' }
      return ['lib/latency-client.ts', { ...usual, ...(await changes(contender)) }]
    }),
    ...(config !== undefined && { config }),
  })
  return [
    besideVisits('misses', () => ({ paths: [unseen()], fresh: '' })),
    besideVisits('shared misses', () => ({ paths: [unseen(slow)], fresh: '', crowd: 50 })),
    besideVisits('expiring pages', () => ({ paths: numbered(20, `${expiring}visited-`) })),
    besideVisits('pass-throughs', () => passedVisits('GET')),
    besideVisits('passed POSTs', () => passedVisits('POST')),
    besideVisits('validations', async (contender) => {
      const etag = (await cached(contender, hit('gzip'))).headers.get('etag') ?? ''
      return { paths: [hit('gzip').path], headers: { ...headers, 'If-None-Match': etag }, status: 304 }
    }),
    besideVisits('head requests', () => ({ method: 'HEAD' })),
    besideVisits('ranges', () => ({
      headers: { ...hit('identity').headers, Range: 'bytes=1000-1999' },
      status: 206,
    })),
    besideVisits('reads from disk', () => ({ paths: numbered(pagesOnDisk, `${category}disk-`) }), littleMemory),
    beside(arrangement, 'a purge storm', [], (contender, seconds) => [
      'lib/purge-client.ts',
      storm(contender, seconds),
    ]),
    besideOperators(arrangement),
  ]
}

function passedVisits(method: 'GET' | 'POST'): Partial<Visits> {
  const { path, headers, body } = passed(method, '20 kB')
  return { paths: [path], headers, ...(method === 'POST' && { method, body: body ?? '' }) }
}

function numbered(count: number, prefix: string): string[] {
  return Array.from({ length: count }, (_, n) => `${prefix}${n}`)
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
  work: (contender: Contender, seconds: number) => Work | Promise<Work>,
): Shape {
  const latencies = (contender: Contender, duration: number) =>
    runFile<Latencies>('lib/latency-client.ts', [JSON.stringify(visits(contender, duration))], {
      command: beforeOthers(),
    })
  const besideWork = async (contender: Contender, duration: number) => {
    const [file, argument] = await work(contender, duration + 2)
    return await during(file, argument, () => latencies(contender, duration))
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
