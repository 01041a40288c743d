import type { Database, Statement } from 'better-sqlite3'
import type { PageDraft, PageType } from './page.ts'
import type { Fence, Rejection, Selection } from './page-store.ts'
import { searchTagsOf, sharedAmongQueries } from './search-tags.ts'

export interface Removal {
  seq: number
  selection: Selection
}

/**
 * `floor`: earlier removals are no longer listed; a reader that has not seen them must assume that everything was
 * removed.
 */
export interface LogState {
  generation: string
  cleared: number
  floor: number
  /** The trace of the removal that cleared the index. */
  trace: number | null
}

/** What a reader compares with what it has seen: the last removal, and the last page that was stored. */
export interface News extends LogState {
  last: number
  lastPage: number
}

interface RemovalRow {
  seq: number
  kind: Selection['kind']
  value: string
}

type Selectable = Pick<PageDraft, 'type' | 'url' | 'tags'>

/** Whether an invalidation selects a page. */
export function selects(selection: Selection, page: Selectable): boolean {
  switch (selection.kind) {
    case 'all':
      return true
    case 'type':
      return selection.type === page.type
    case 'urls':
      return selection.urls.includes(page.url) || searchTagsOf(selection.urls).some((tag) => page.tags.includes(tag))
    case 'tags':
      return page.tags.some((tag) => selection.tags.includes(tag))
    case 'matching':
      return selection.matches(page.url) || page.tags.includes(sharedAmongQueries)
  }
}

function toValue(selection: Selection): string {
  switch (selection.kind) {
    case 'all':
      return ''
    case 'type':
      return selection.type
    case 'tags':
      return JSON.stringify(selection.tags)
    case 'urls':
      return JSON.stringify(selection.urls)
    // Readers do not know the pattern: any page may match.
    case 'matching':
      return ''
  }
}

function toSelection(row: RemovalRow): Selection {
  switch (row.kind) {
    case 'all':
      return { kind: 'all' }
    case 'type':
      return { kind: 'type', type: row.value as PageType }
    case 'tags':
      return { kind: 'tags', tags: JSON.parse(row.value) as string[] }
    case 'urls':
      return { kind: 'urls', urls: JSON.parse(row.value) as string[] }
    case 'matching':
      return { kind: 'matching', matches: () => true }
  }
}

const noState: LogState = { generation: '', cleared: 1, floor: 0, trace: null }

/**
 * The log of removals in order, one row per request. Other processes read it to invalidate their memory, and it rejects
 * pages whose fetch began before a removal that selects them.
 */
export class RemovalLog {
  readonly #getStateQuery: Statement<[], LogState>
  readonly #getLastQuery: Statement<[], number>
  #getNewsQuery: Statement<[], News> | null = null
  readonly #database: Database
  readonly #getSinceQuery: Statement<[number], RemovalRow>
  readonly #appendQuery: Statement<[number, string, string]>
  readonly #getPrunableQuery: Statement<[number], number | null>
  readonly #setFloorQuery: Statement<[number]>
  readonly #pruneQuery: Statement<[number]>
  readonly #tombstoneQuery: Statement<[number | null]>

  constructor(database: Database) {
    this.#database = database
    this.#getStateQuery = database.prepare('SELECT generation, cleared, floor, trace FROM meta')
    this.#getLastQuery = database.prepare<[], number>(`SELECT seq FROM sqlite_sequence WHERE name = 'removal'`).pluck()
    this.#getSinceQuery = database.prepare('SELECT seq, kind, value FROM removal WHERE seq > ? ORDER BY seq')
    this.#appendQuery = database.prepare('INSERT INTO removal (at, kind, value) VALUES (?, ?, ?)')
    this.#getPrunableQuery = database
      .prepare<[number], number | null>('SELECT max(seq) FROM removal WHERE at < ?')
      .pluck()
    this.#setFloorQuery = database.prepare('UPDATE meta SET floor = max(floor, ?)')
    this.#pruneQuery = database.prepare('DELETE FROM removal WHERE seq <= ?')
    this.#tombstoneQuery = database.prepare('UPDATE meta SET cleared = 1, trace = ?')
  }

  /** A meta table without its row is not a valid index and counts as cleared. */
  state(): LogState {
    return this.#getStateQuery.get() ?? noState
  }

  /** In one query, because each begins with a lock on the index. */
  news(): News {
    this.#getNewsQuery ??= this.#database.prepare(`
      SELECT generation, cleared, floor, trace,
        ifnull((SELECT seq FROM sqlite_sequence WHERE name = 'removal'), 0) AS last,
        ifnull((SELECT seq FROM sqlite_sequence WHERE name = 'page'), 0) AS lastPage FROM meta`)
    return this.#getNewsQuery.get() ?? { ...noState, last: 0, lastPage: 0 }
  }

  last(): number {
    return this.#getLastQuery.get() ?? 0
  }

  since(sequence: number): Removal[] {
    return this.#getSinceQuery.all(sequence).map((row) => ({ seq: row.seq, selection: toSelection(row) }))
  }

  append(selection: Selection, at: number): void {
    this.#appendQuery.run(at, selection.kind, toValue(selection))
  }

  /** Why a page whose fetch began at the fence may no longer be stored; null when it may. Decides inside the write transaction. */
  rejection(fence: Fence, draft: Selectable): Rejection | null {
    return this.judge()(fence, draft)
  }

  /** `rejection` for several pages, which share the look at the log. */
  judge(): (fence: Fence, draft: Selectable) => Rejection | null {
    const state = this.state()
    const removals = new Map<number, Removal[]>()
    return ({ generation, sequence }, draft) => {
      // There was no index when its fetch began.
      if (generation === '') return 'unavailable'
      if (state.cleared !== 0 || state.generation !== generation || sequence < state.floor) return 'invalidated'
      const since = removals.get(sequence) ?? this.since(sequence)
      removals.set(sequence, since)
      return since.some(({ selection }) => selects(selection, draft)) ? 'invalidated' : null
    }
  }

  prune(before: number): void {
    const last = this.#getPrunableQuery.get(before) ?? null
    if (last === null) return
    this.#setFloorQuery.run(last)
    this.#pruneQuery.run(last)
  }

  /** Invalidates the whole index for every process. */
  tombstone(trace: number | null): void {
    this.#tombstoneQuery.run(trace)
  }
}
