import { setTimeout as pause } from 'node:timers/promises'
import { createClient, ErrorReply, RESP_TYPES } from 'redis'
import { Patience, TooLate, type Limits } from './patience.ts'
import { Refusals, type Use } from './refusals.ts'
import { scripts } from './scripts.ts'

/** There is no connection now, or nothing may be sent on it. */
class Unavailable extends Error {}

export type Reply = string | number | Buffer | null | Reply[]

export interface ConnectionOptions {
  url: string
  limits?: Limits
  /** Called before each attempt to connect, which fails if it does. */
  prepare(): Promise<void>
  /** Reports a change of state, once each. */
  onChange(message: string): void
}

const usualLimits: Limits = { least: 50, most: 250 }
/** How many commands may lack an answer: they stay in memory until the connection ends. */
const mostInFlight = 2_048
/** How many late answers in a row mean that Redis hangs. */
const mostLate = 5
/** How long a connection may take, in milliseconds. */
const connectTimeout = 2_000
/** The pauses between two attempts to connect, in milliseconds. */
const firstPause = 250
const longestPause = 10_000
/** After a connection of this length, in milliseconds, the pauses begin anew. */
const stable = 30_000

type Client = ReturnType<typeof dial>

/** A connection to Redis or Valkey that is renewed in the background. No caller ever waits for it. */
export class Connection {
  /** The server, without credentials. */
  readonly name: string
  /** Resolves when the first attempt to connect has ended. */
  readonly attempted: Promise<void>
  readonly #options: ConnectionOptions
  readonly #patience: Patience
  readonly #refusals: Record<Use, Refusals>
  readonly #closing = new AbortController()
  #client: Client | null = null
  #dialling = false
  #pause = firstPause
  #since = 0
  #late = 0
  #inFlight = 0
  readonly #attempt = Promise.withResolvers<void>()
  /** Why there is no connection. */
  #fault: string | null = 'not connected yet'
  #told = false

  constructor(options: ConnectionOptions) {
    this.#options = options
    this.#patience = new Patience(options.limits ?? usualLimits)
    this.name = serverOf(options.url)
    const tell = (what: string) => (reason: string | null) =>
      options.onChange(`${this.name} ${reason === null ? `accepts ${what} again` : `refuses ${what}: ${reason}`}`)
    this.#refusals = {
      read: new Refusals(tell('reads of shared pages')),
      write: new Refusals(tell('shared pages')),
      info: new Refusals(() => {}),
    }
    this.attempted = this.#attempt.promise
    this.#dial()
  }

  /** Why commands of this kind fail now; null if they do not. */
  fault(use: Use): string | null {
    return this.#fault ?? this.#refusals[use].reason
  }

  /** @throws Unavailable while commands of this kind are not sent */
  assert(use: Use): Client {
    const client = this.#client
    if (client !== null && !this.#refusals[use].isPaused && this.#inFlight < mostInFlight) return client
    throw new Unavailable(this.fault(use) ?? 'too many commands wait for an answer')
  }

  /** Sends a command. @throws Unavailable, TooLate, ErrorReply, or an error of the connection */
  async run(use: Use, args: readonly (string | Buffer)[]): Promise<Reply> {
    const client = this.assert(use)
    const reply = this.#send(client, args)
    try {
      const value = await this.#patience.within(reply)
      this.#late = 0
      this.#refusals[use].accepted()
      return value
    } catch (error) {
      if (error instanceof TooLate && (this.#late += 1) >= mostLate) this.#lose(client, error)
      if (error instanceof ErrorReply) this.#noteRefusal(use, error.message, client)
      throw error
    }
  }

  async #send(client: Client, args: readonly (string | Buffer)[]): Promise<Reply> {
    this.#inFlight += 1
    const sent = performance.now()
    try {
      return await client.sendCommand<Reply>(args, { typeMapping: { [RESP_TYPES.BLOB_STRING]: Buffer } })
    } finally {
      this.#inFlight -= 1
      this.#patience.note(performance.now() - sent)
    }
  }

  #noteRefusal(use: Use, message: string, client: Client): void {
    this.#late = 0
    const isNew = !this.#refusals[use].isPaused
    this.#refusals[use].refused(message)
    // After a failover the name of the server may lead to the new primary.
    if (isNew && message.includes('READONLY')) void this.#replace(client)
  }

  async #replace(old: Client): Promise<void> {
    try {
      const client = await this.#connect()
      if (this.#client !== old || this.#closing.signal.aborted) return end(client)
      this.#client = client
      end(old)
    } catch {
      // The old connection is good enough for reads.
    }
  }

  #lose(client: Client, error: unknown): void {
    if (this.#client !== client) return
    this.#client = null
    end(client)
    if (performance.now() - this.#since > stable) this.#pause = firstPause
    this.#noteFault(error)
    this.#dial()
  }

  #noteFault(error: unknown): void {
    if (this.#closing.signal.aborted) return
    this.#fault = reasonOf(error)
    this.#attempt.resolve()
    if (!this.#told) this.#options.onChange(`${this.name} is unreachable: ${this.#fault}`)
    this.#told = true
  }

  #dial(): void {
    if (this.#dialling || this.#closing.signal.aborted) return
    this.#dialling = true
    void this.#keepDialling()
  }

  async #keepDialling(): Promise<void> {
    const { signal } = this.#closing
    while (!signal.aborted) {
      try {
        const client = await this.#connect()
        if (signal.aborted) return end(client)
        if (client.isReady) return this.#use(client)
      } catch (error) {
        this.#noteFault(error)
      }
      // Nodes that lost it at the same time do not come back at the same time.
      const wait = this.#pause * (0.5 + Math.random() / 2)
      this.#pause = Math.min(longestPause, this.#pause * 2)
      await pause(wait, undefined, { ref: false, signal }).catch(() => {})
    }
  }

  #use(client: Client): void {
    this.#dialling = false
    this.#client = client
    this.#since = performance.now()
    this.#late = 0
    this.#fault = null
    this.#attempt.resolve()
    if (this.#told) this.#options.onChange(`${this.name} is reachable again`)
    this.#told = false
  }

  /** A connection that answers. @throws any error */
  async #connect(): Promise<Client> {
    await this.#options.prepare()
    const client = dial(this.#options.url)
    client.unref()
    const timer = setTimeout(() => end(client), connectTimeout)
    let failure: unknown = null
    client.on('error', (error) => {
      failure = error
      this.#lose(client, error)
    })
    try {
      await client.connect()
      // Otherwise the first pages would be written after their locks are released.
      for (const { source } of scripts) await client.scriptLoad(source).catch(ignoreRefusal)
      await client.ping()
      return client
    } catch (error) {
      end(client)
      throw failure ?? error
    } finally {
      clearTimeout(timer)
    }
  }

  close(): void {
    this.#closing.abort()
    this.#attempt.resolve()
    const client = this.#client
    this.#client = null
    if (client !== null) end(client)
  }
}

function dial(url: string) {
  return createClient({
    url,
    name: 'pagecache',
    disableOfflineQueue: true,
    disableClientInfo: true,
    maintNotifications: 'disabled',
    socket: { connectTimeout, reconnectStrategy: false },
  })
}

function end(client: Client): void {
  // Throws if it has ended by itself.
  if (client.isOpen) client.destroy()
}

/** Commands will say what they lack. */
function ignoreRefusal(error: unknown): void {
  if (!(error instanceof ErrorReply)) throw error
}

function reasonOf(error: unknown): string {
  const { message, code } = error as { message?: string; code?: string }
  return (message || code || String(error)).slice(0, 200)
}

/** Names the server without its credentials. */
function serverOf(url: string): string {
  const { hostname, port } = new URL(url)
  return `Redis at ${hostname || 'localhost'}:${port || '6379'}`
}
