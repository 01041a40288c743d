import type { Scope, Selection } from './pages.ts'

/** A purge of a writer, with the versions that its pages got before. */
export interface SentPurge {
  number: number
  scope: Scope
  node: string
  versions: ReadonlyMap<string, number>
  /** Nodes that its answer named; null while it is not answered. */
  unconfirmed: readonly string[] | null
  sentAt: number
  answeredAt: number
  /** The row in the log that its answer named; null for answers without one. */
  row: number | null
}

/** A page as a visitor got it. */
export interface Seen {
  path: string
  node: string
  /** Null where the body has none. */
  version: number | null
  /** `Cache-Status`. */
  how: string
}

interface Note {
  at: number
  path: string | null
  text: string
}

/** Entries of the history: more than the pages of a check have between two purges of everything. */
const mostNotes = 20_000
/** How many entries of a page a fault shows. */
const shownNotes = 60

/**
 * Knows each page's version in the shop, and below which version no visitor may get it any more. Records what happened to each page, for
 * the report of a fault.
 */
export class Oracle {
  readonly faults: string[] = []
  readonly purges: SentPurge[] = []
  readonly counts = { reads: 0, hits: 0, unconfirmedReads: 0, olderReads: 0 }
  readonly #versions = new Map<string, number>()
  readonly #answered = new Map<string, SentPurge[]>()
  #notes: Note[] = []
  readonly #now: () => number
  /** Nodes that never serve without a lease. */
  readonly #strict: ReadonlySet<string>

  /** @param now the time since the start, in milliseconds */
  constructor(now: () => number, strict: readonly string[]) {
    this.#now = now
    this.#strict = new Set(strict)
  }

  version(path: string): number {
    return this.#versions.get(path) ?? 1
  }

  /** Records something that concerns one page, or all with `null`. */
  note(path: string | null, text: string): void {
    this.#notes.push({ at: this.#now(), path, text })
    if (this.#notes.length > mostNotes) this.#notes = this.#notes.slice(mostNotes / 10)
  }

  /** Changes the pages in the shop. Their purge is about to be sent. */
  change({ scope, value, pages }: Selection, node: string): SentPurge {
    const versions = new Map(pages.map(({ path }) => [path, this.version(path) + 1]))
    const sentAt = this.#now()
    const number = this.purges.length + 1
    const purge: SentPurge = {
      number,
      scope,
      node,
      versions,
      unconfirmed: null,
      sentAt,
      answeredAt: Infinity,
      row: null,
    }
    this.purges.push(purge)
    for (const [path, version] of versions) {
      this.#versions.set(path, version)
      this.note(path, `version ${version}; purge ${number} (${scope} ${value}) is sent to ${node}`)
    }
    return purge
  }

  /** From now on no visitor may get the pages from before. */
  answered(purge: SentPurge, unconfirmed: readonly string[]): void {
    purge.unconfirmed = unconfirmed
    purge.answeredAt = this.#now()
    const named = unconfirmed.length > 0 ? `, unconfirmed by ${unconfirmed.join(', ')}` : ''
    for (const path of purge.versions.keys()) {
      this.note(path, `purge ${purge.number} is answered${named}`)
      this.#answered.set(path, [...this.#open(path, purge), purge])
    }
    for (const node of unconfirmed)
      if (this.#strict.has(node)) this.fail(null, `purge ${purge.number} names ${node}, which is in strict mode`)
  }

  /** When the latest purge that was answered before a time was sent; 0 without one. */
  lastAnswered(before: number): number {
    return this.purges.findLast(({ answeredAt }) => answeredAt < before)?.sentAt ?? 0
  }

  failed(purge: SentPurge, why: string): void {
    for (const path of purge.versions.keys()) this.note(path, `purge ${purge.number} is not answered: ${why}`)
  }

  /** Answered purges of a page that a further one does not replace. */
  #open(path: string, { versions, unconfirmed }: SentPurge): SentPurge[] {
    const version = versions.get(path)!
    const all = this.#answered.get(path) ?? []
    return unconfirmed!.length > 0 ? all.slice(-200) : all.filter((other) => other.versions.get(path)! > version)
  }

  /** What holds for a request that is about to be sent: the purges of its page that were answered. */
  expect(path: string): readonly SentPurge[] {
    return this.#answered.get(path) ?? []
  }

  /** Judges a page. `answered`: what `expect` returned before the request was sent. */
  judge({ path, node, version, how }: Seen, answered: readonly SentPurge[]): void {
    this.counts.reads += 1
    if (how.includes('; hit')) this.counts.hits += 1
    const isUnconfirmed = /detail="[^"]*\bunconfirmed\b/.test(how)
    if (isUnconfirmed) this.counts.unconfirmedReads += 1
    if (isUnconfirmed && this.#strict.has(node)) this.fail(path, `${node} is in strict mode and answers ${how}`)
    if (version === null || version > this.version(path))
      return this.fail(path, `${node} answers version ${version}, which the shop does not have (${how})`)
    const older = answered.filter(({ versions }) => version < versions.get(path)!)
    if (older.length === 0) return
    this.counts.olderReads += 1
    this.note(path, `${node} answers version ${version} (${how})`)
    const hidden = older.filter(({ unconfirmed }) => !isUnconfirmed || !unconfirmed!.includes(node))
    for (const { number, versions } of hidden.slice(0, 1))
      this.fail(
        path,
        `stale: ${node} answers version ${version} after purge ${number} to version ${versions.get(path)} (${how})`,
      )
  }

  /** Records a fault with the history of its page, or of what concerns all. */
  fail(path: string | null, text: string): void {
    const own = this.#notes.filter((note) => note.path === null || note.path === path).slice(-shownNotes)
    const lines = own.map((note) => `    ${(note.at / 1000).toFixed(3)} s: ${note.text}`)
    const at = `${(this.#now() / 1000).toFixed(3)} s`
    this.faults.push([`${at}: ${path ?? ''} ${text}`, ...lines].join('\n'))
  }
}
