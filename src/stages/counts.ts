/** Why an event was not counted although its request was valid. */
const ignoredReasons = ['bot', 'prefetch', 'not_recording'] as const
/** Why a request was rejected. */
const refusedReasons = [
  'origin',
  'rate_address',
  'rate_stage',
  'rate_total',
  'too_large',
  'malformed',
  'unknown_stage',
  'unavailable',
] as const

export type IgnoredReason = (typeof ignoredReasons)[number]
export type RefusedReason = (typeof refusedReasons)[number]

/** Counts of track requests in this process since its start, for the metrics. */
export interface StageCounts {
  recorded: number
  ignored: Record<IgnoredReason, number>
  refused: Record<RefusedReason, number>
}

export function createStageCounts(): StageCounts {
  return {
    recorded: 0,
    ignored: { bot: 0, prefetch: 0, not_recording: 0 },
    refused: {
      origin: 0,
      rate_address: 0,
      rate_stage: 0,
      rate_total: 0,
      too_large: 0,
      malformed: 0,
      unknown_stage: 0,
      unavailable: 0,
    },
  }
}
