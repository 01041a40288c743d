import type { Client, Pool } from 'pg'

/** Signals that the queue has changed. PostgreSQL separates the channels of different databases. */
const channel = 'pagecache_queue'
/** Signals that there may be new purges, or a question. */
const purgeChannel = 'pagecache_purges'
const changesQueue = /^(?:insert into|update|delete from) "queue_messages"/
const wakesNodes = /^(?:insert into "cluster_purges"|(?:insert into|update) "cluster_questions")/
/** Pause between the first change and its signal, which then stands for all changes in it (milliseconds). */
const delay = 5
/** Pause before the listener connects again (milliseconds). Meanwhile workers poll. */
const reconnectDelay = 1000

/**
 * The statement that wakes all nodes after a commit. It is sent together with the commit, because this thread may be busy removing pages
 * afterwards. The transaction itself must not notify: it would hold a lock of the whole database while it is synced.
 */
export function noticeOf(statements: readonly string[]): string {
  return statements.some((statement) => wakesNodes.test(statement)) ? `; notify ${purgeChannel}` : ''
}

export interface HintOptions {
  pool: Pool
  /** Makes the connection that listens; a connection pooler may lie between the pool and the server, but not here. */
  connect(): Client
}

/**
 * Tells workers of all processes soon that the queue may have changed. A hint may be missing, so workers poll too. It is sent after the
 * commit, because a transaction that notifies holds a lock of the whole database while it commits.
 */
export class Hints {
  readonly #options: HintOptions
  #count = 0
  #onPurge: (() => void) | null = null
  readonly #watchers = new Set<() => void>()
  #listener: Client | null = null
  #listening = false
  #timer: NodeJS.Timeout | null = null
  #closed = false

  constructor(options: HintOptions) {
    this.#options = options
  }

  /** A value that changes with every hint. The first call starts to listen. */
  read(): string {
    if (!this.#listening) this.#listen()
    return String(this.#count)
  }

  /** Calls the listener with every hint. Returns a function that ends it. */
  watch(listener: () => void): () => void {
    this.#watchers.add(listener)
    return () => void this.#watchers.delete(listener)
  }

  #change(): void {
    this.#count += 1
    for (const listener of this.#watchers) listener()
  }

  /** Calls the listener when there may be new purges. */
  watchPurges(listener: () => void): void {
    this.#onPurge = listener
    this.read()
  }

  /** Sends a hint if one of the committed statements has changed the queue. */
  announce(statements: readonly string[]): void {
    if (this.#closed) return
    if (!statements.some((statement) => changesQueue.test(statement))) return
    this.#change()
    this.#timer ??= setTimeout(() => void this.#send(), delay)
  }

  async #send(): Promise<void> {
    this.#timer = null
    await this.#options.pool.query(`notify ${channel}`).catch(() => {})
  }

  #listen(): void {
    this.#listening = true
    const client = (this.#listener = this.#options.connect())
    const again = () => {
      if (this.#listener !== client) return
      this.#listener = null
      void client.end().catch(() => {})
      setTimeout(() => this.#closed || this.#listen(), reconnectDelay).unref()
    }
    client.on('error', again)
    client.on('end', again)
    client.on('notification', (message) => {
      if (message.channel === purgeChannel) this.#onPurge?.()
      else this.#change()
    })
    client
      .connect()
      .then(() => client.query(`listen ${channel}; listen ${purgeChannel}`))
      // What was sent before is not received.
      .then(() => this.#change(), again)
  }

  /** Sends a hint that is due and stops listening. */
  async close(): Promise<void> {
    this.#closed = true
    const listener = this.#listener
    this.#listener = null
    if (this.#timer !== null) {
      clearTimeout(this.#timer)
      await this.#send()
    }
    await listener?.end().catch(() => {})
  }
}
