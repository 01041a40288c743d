/** Where a moment lies: before `from`, from then on and before `until`, or after. Times in ISO 8601; null: no limit. */
export function placeInWindow(from: string | null, until: string | null, now: number): 'before' | 'within' | 'after' {
  if (from !== null && now < Date.parse(from)) return 'before'
  return until !== null && now >= Date.parse(until) ? 'after' : 'within'
}
