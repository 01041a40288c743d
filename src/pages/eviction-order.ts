import type { Database, Statement } from 'better-sqlite3'

export interface DeadPage {
  id: number
  file: string
}

export interface LeastUsed extends DeadPage {
  size: number
  usedAt: number
  /** 0 when its type was cleared since. */
  live: number
}

/** How much faster a page without a hit ages. */
const unprovenPace = 8

/**
 * Orders pages for eviction: the least recently used go first, but a page without a hit counts as unused for a multiple of
 * its time, so that a crawler's pages do not drive out the popular ones. Ages are relative to the last use on record, not to
 * a clock that may jump.
 */
export class EvictionOrder {
  readonly #getLeastUsedQuery: Statement<[number, number], LeastUsed>
  readonly #getLastUseQuery: Statement<[], number | null>

  constructor(database: Database) {
    this.#getLeastUsedQuery = database.prepare(
      `SELECT p.id, p.size, p.file, p.epoch = s.epoch AS live, p.used_at AS usedAt
       FROM page p CROSS JOIN stat s ON s.type = p.type
       WHERE (p.hits > 0) = ? AND NOT EXISTS (SELECT 1 FROM dead d WHERE d.page_id = p.id)
       ORDER BY p.used_at, p.id LIMIT ?`,
    )
    this.#getLastUseQuery = database
      .prepare<[], number | null>(
        `SELECT max(
           (SELECT used_at FROM page WHERE (hits > 0) = 0 ORDER BY used_at DESC LIMIT 1),
           (SELECT used_at FROM page WHERE (hits > 0) = 1 ORDER BY used_at DESC LIMIT 1))`,
      )
      .pluck()
  }

  next(limit: number): LeastUsed[] {
    const unproven = this.#getLeastUsedQuery.all(0, limit)
    const proven = this.#getLeastUsedQuery.all(1, limit)
    const last = this.#getLastUseQuery.get() ?? 0
    const ageOf = ({ usedAt }: LeastUsed) => last - usedAt
    const next: LeastUsed[] = []
    let [u, p] = [0, 0]
    while (next.length < limit) {
      const [one, other] = [unproven[u], proven[p]]
      if (one === undefined && other === undefined) break
      const ahead = one === undefined ? -1 : other === undefined ? 1 : ageOf(one) * unprovenPace - ageOf(other)
      // Of equal age, the older row goes first.
      if (ahead > 0 || (ahead === 0 && one!.id < other!.id)) next.push(unproven[u++]!)
      else next.push(proven[p++]!)
    }
    return next
  }
}
