export function reason(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}

/** The result of `cache.inspect` as lines. */
export function toInspection(value: unknown): string[] {
  const { reason: why, explanation = [] } = value as { reason: string; explanation?: string[] }
  return [why, ...explanation.filter((sentence) => sentence !== why)]
}
