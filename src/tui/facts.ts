import { ago, timeOfDay } from './text/amount.ts'

/** Formats a time with its age: `2026-11-21 12:41:07 UTC, 3 min ago`. `at`: ISO 8601. */
export function moment(at: string, time: number): string {
  const then = Date.parse(at)
  return `${at.slice(0, 10)} ${timeOfDay(then)} UTC, ${ago(then, time)}`
}

/** The facts whose value is known. */
export function known(facts: readonly (readonly [string, string | number | null])[]): (readonly [string, string])[] {
  return facts.flatMap(([name, value]) => (value === null || value === '' ? [] : [[name, String(value)] as const]))
}
