import { readTraffic } from '../operations/traffic.ts'
import type { Ratios } from './present-statistics.ts'
import type { Session } from './session.ts'

/** Reads the hit ratios of the last hour and day; null where the records are not readable, because the pages are shown without them. */
export async function readRatios({ performer, signal }: Pick<Session, 'performer' | 'signal'>): Promise<Ratios | null> {
  const read = async (last: string) => (await performer.perform(readTraffic, { last })).totals.hitRatio
  try {
    return { lastHour: await read('1h'), lastDay: await read('24h') }
  } catch (error) {
    if (signal.aborted) throw error
    return null
  }
}
