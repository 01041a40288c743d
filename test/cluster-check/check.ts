import { setTimeout as sleep } from 'node:timers/promises'
import { median } from '../../bench/lib/statistics.ts'
import { pick } from '../helpers/random.ts'
import { cutOff, disturb, type FaultCounts } from './faults.ts'
import { sendEvents, warm, type SentEvents } from './guests.ts'
import { host, pages } from './pages.ts'
import { read } from './readers.ts'
import { growths, sample, type Growth, type Sample } from './resources.ts'
import { openRun, type Run } from './run.ts'
import type { NodeName } from './servers.ts'
import { judgeEvents, judgePurges, judgeWarmups, settle, type Finding } from './verdict.ts'
import { write } from './writers.ts'

export interface CheckOptions {
  minutes: number
  seed: number
  /** The program to check; null: this build. */
  program: string | null
  /** Makes only the fault that leads to stale pages, and ends with the first of them. */
  untilStale?: boolean
}

export interface Report {
  seed: number
  seconds: number
  reads: Run['oracle']['counts']
  purges: { sent: number; answered: number; unconfirmed: number; medianMs: number }
  events: { sent: number; acknowledged: number }
  warmups: number
  disturbed: FaultCounts
  growths: readonly Growth[]
  /** What the readers and writers found. */
  faults: readonly string[]
  findings: readonly Finding[]
}

/** Whether a fault is a page from before an answered purge that a node served under its lease. */
export const isStale = (fault: string) => / stale: (?!.*unconfirmed)/.test(fault)

export async function check({ minutes, seed, program, untilStale = false }: CheckOptions): Promise<Report> {
  console.log(`Seed ${seed}, ${minutes} minutes`)
  const run = await openRun(seed, program, minutes * 60_000)
  try {
    const { events, warmups, disturbed, samples, working } = begin(run, untilStale ? cutOff : null)
    const ending = run.now() + minutes * 60_000
    while (run.now() < ending && !(untilStale && run.oracle.faults.some(isStale))) await sleep(100)
    run.end()
    const seconds = Math.round(run.now() / 1000)
    const [started, used] = await Promise.all([warmups, samples, working])
    const findings: Finding[] = []
    if (!untilStale) {
      await settle(run)
      findings.push(...(await judgePurges(run)), await judgeEvents(run, events), await judgeWarmups(run, started))
    }
    return toReport(run, { seed, seconds, events, disturbed, samples: used, started, findings })
  } finally {
    await run.close()
  }
}

/** Starts writers, readers, visitors with events, warmups and faults. */
function begin(run: Run, only: string | null) {
  const events: SentEvents = { acknowledged: [], sent: 0 }
  const disturbed: FaultCounts = {}
  const warmups = warm(run)
  const samples = sample(run)
  const nodes: readonly NodeName[] = ['one', 'two', 'three', 'four', 'one', 'two', 'three', 'four']
  const working = Promise.all([
    ...[10, 11, 12, 13, 14, 15].map((part) => write(run, part)),
    ...nodes.map((node, index) => read(run, node, 20 + index)),
    visitVarnish(run),
    sendEvents(run, events),
    disturb(run, disturbed, only),
  ])
  return { events, warmups, disturbed, samples, working }
}

/** Fills Varnish. Its purges follow the answers, so its pages are judged at the end. */
async function visitVarnish(run: Run): Promise<void> {
  const next = run.random(60)
  while (!run.over.aborted) {
    await run.clients
      .get('varnish')!
      .ask(pick(next, pages).path, { headers: { host } })
      .catch(() => null)
    run.servers.origin.forget()
    await sleep(next() * 50)
  }
}

interface Ended {
  seed: number
  seconds: number
  events: SentEvents
  disturbed: FaultCounts
  samples: readonly Sample[]
  started: readonly string[]
  findings: readonly Finding[]
}

function toReport({ oracle }: Run, { seed, seconds, events, disturbed, samples, started, findings }: Ended): Report {
  const answered = oracle.purges.filter(({ unconfirmed }) => unconfirmed !== null)
  const used = growths(samples, seconds * 1000)
  const grown = used.filter(({ isFlat }) => !isFlat).map((each) => JSON.stringify(each))
  const isAbout = (names: boolean) => oracle.faults.filter((fault) => fault.includes(' names ') === names)
  return {
    seed,
    seconds,
    reads: oracle.counts,
    purges: {
      sent: oracle.purges.length,
      answered: answered.length,
      unconfirmed: answered.filter(({ unconfirmed }) => unconfirmed!.length > 0).length,
      medianMs: Math.round(median(answered.map(({ sentAt, answeredAt }) => answeredAt - sentAt))),
    },
    events: { sent: events.sent, acknowledged: events.acknowledged.length },
    warmups: started.length,
    disturbed,
    growths: used,
    faults: oracle.faults,
    findings: [
      { claim: 'no page from before an answered purge is served', faults: isAbout(false) },
      { claim: 'purges name the nodes that may serve older pages, and no other', faults: isAbout(true) },
      ...findings,
      { claim: 'memory and file handles are flat in the second half', faults: grown },
    ],
  }
}
