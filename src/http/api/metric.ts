import type { App } from '../../app.ts'
import type { SlotCounts } from '../../cache/origin/slots.ts'
import type { UnsafeCounts } from '../../cache/unsafe.ts'
import type { StageCounts } from '../../stages/counts.ts'
import type { Traffic } from '../../traffic/traffic.ts'
import type { Rejections } from '../front/proxied.ts'

export interface MetricsOptions {
  /** The current app: a reload replaces it. */
  app(): App
  traffic: Traffic
  stages: StageCounts
  /** The bodies in the memory of this process. */
  memory(): { bytes: number; pages: number }
  /** Pages dropped by unsafe requests; a reload starts new counts. */
  unsafe?(): UnsafeCounts
  /** Requests of visitors at the shops; a reload starts new counts. */
  load?(): { readonly counts: SlotCounts }
  /** Connections closed for lack of a PROXY header. */
  rejections?: Pick<Rejections, 'counts'>
}

export type Sample = readonly [labels: Record<string, string>, value: number]

/** How the values of several processes become one. `first`: for what all processes share. */
export type Aggregator = 'sum' | 'first' | 'max'

/** One metric, read with each scrape. */
export interface Reading {
  name: string
  help: string
  type: 'counter' | 'gauge'
  aggregator: Aggregator
  read(): readonly Sample[] | Promise<readonly Sample[]>
}

/** A gauge with the same value in every process. */
export const shared = { aggregator: 'first', type: 'gauge' } as const

/** The samples of a metric without labels. */
export const one = (value: number): Sample[] => [[{}, value]]

/** A counter that keeps rising when a reload replaces its source with one that starts at 0. */
export function rising<Source>(
  current: () => Source | Promise<Source>,
  count: (source: Source) => number,
): () => Promise<Sample[]> {
  let source: Source | null = null
  let [before, last] = [0, 0]
  return async () => {
    const now = await current()
    if (now !== source) before += last
    source = now
    last = count(now)
    return one(before + last)
  }
}
