import type { Performance } from 'node:perf_hooks'

/**
 * The number of the current turn of the event loop, which begins when libuv has collected what has arrived. Where that is very much, libuv
 * collects again in the same iteration; the number of events that it has handled tells these turns apart.
 */
export function currentTurn(): number {
  // Not imported: the module takes milliseconds, which commands need not wait for. The types of browsers lack this property.
  const { loopCount, events } = (performance as unknown as Performance).nodeTiming.uvMetricsInfo
  return loopCount + events
}

/**
 * Caches a read for one turn of the event loop. A request that is the first that its connection has sent since it was last read had begun to
 * arrive before this turn, so it cannot depend on a change that the read misses. One that follows unread bytes may
 * (docs/decisions/0171-poll-of-a-turn.md). An immediate would end the cache too late: one that is set by another
 * immediate runs in the next turn.
 */
export function oncePerTurn<T>(read: () => T): () => T {
  let known: { turn: number; value: T } | null = null
  return () => {
    const turn = currentTurn()
    if (known?.turn !== turn) known = { turn, value: read() }
    return known.value
  }
}
