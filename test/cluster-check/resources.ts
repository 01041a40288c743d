import { readdirSync, readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { median } from '../../bench/lib/statistics.ts'
import { running, type Run } from './run.ts'

/** What one process of a node used at a time. */
export interface Sample {
  node: string
  pid: number
  at: number
  /** Resident, in MB. */
  memory: number
  handles: number
}

const sampleEvery = 500
/** A process that has just started still grows (milliseconds). */
const settling = 10_000
/** How much more the last quarter may use than the third: noise of a garbage-collected heap, and connections of visitors. */
const slack = { memory: { share: 1.15, more: 40 }, handles: { share: 1.15, more: 25 } }

/** Samples memory and file handles of all nodes until the run is over. */
export async function sample(run: Run): Promise<Sample[]> {
  const samples: Sample[] = []
  while (!run.over.aborted) {
    for (const { name: node, daemon } of running(run)) {
      const used = usedBy(daemon!.pid)
      if (used !== null) samples.push({ node, pid: daemon!.pid, at: run.now(), ...used })
    }
    await sleep(sampleEvery)
  }
  return samples
}

function usedBy(pid: number): Pick<Sample, 'memory' | 'handles'> | null {
  try {
    const pages = Number(/^VmRSS:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))![1])
    return { memory: pages / 1024, handles: readdirSync(`/proc/${pid}/fd`).length }
  } catch {
    // It has just ended.
    return null
  }
}

export interface Growth {
  node: string
  /** Medians of the third and of the last quarter. */
  memory: readonly [number, number]
  handles: readonly [number, number]
  isFlat: boolean
}

/** Compares the last quarter of a run with the third, for each node. */
export function growths(samples: readonly Sample[], duration: number): Growth[] {
  const settled = samples.filter(({ pid, at }) => at - samples.find((first) => first.pid === pid)!.at >= settling)
  return [...new Set(settled.map(({ node }) => node))].flatMap((node): Growth[] => {
    const quarter = (number: number) =>
      settled.filter((each) => each.node === node && Math.min(3, Math.floor((4 * each.at) / duration)) === number)
    const [third, last] = [quarter(2), quarter(3)]
    if (third.length === 0 || last.length === 0) return []
    const pair = (name: 'memory' | 'handles') =>
      [median(third.map((each) => each[name])), median(last.map((each) => each[name]))] as const
    const isFlat = (name: 'memory' | 'handles') => {
      const [before, after] = pair(name)
      return after <= before * slack[name].share + slack[name].more
    }
    return [{ node, memory: pair('memory'), handles: pair('handles'), isFlat: isFlat('memory') && isFlat('handles') }]
  })
}
