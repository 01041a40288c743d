import type { StageRollupRow } from '../records/stage-rows.ts'
import type { EventType } from './stage.ts'

/** Counts events of each type by stage and hour. */
export function sumByHour(
  events: Iterable<{ popup_id: string; hour: number; event_type: EventType }>,
): StageRollupRow[] {
  const sums = new Map<string, StageRollupRow>()
  for (const { popup_id, hour, event_type } of events) {
    const key = `${popup_id}${hour}`
    let sum = sums.get(key)
    if (sum === undefined)
      sums.set(key, (sum = { popup_id, hour, impression: 0, cta_click: 0, close: 0, permanent_dismiss: 0 }))
    sum[event_type] += 1
  }
  return [...sums.values()]
}
