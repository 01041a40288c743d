import { chmodSync, mkdirSync, rmSync } from 'node:fs'
import { createServer, type Server, type Socket } from 'node:net'
import { join } from 'node:path'
import { randomUUID } from 'node:crypto'
import type { Seen, Traffic } from '../traffic.ts'
import { toMatcher, type LiveFilter } from './seen.ts'
import { linesOf, liveDirectory, longestLine, socketAddress } from './socket.ts'
import { Window } from './window.ts'

/** Watchers of one process. Each costs a message four times a second. */
const mostWatchers = 32
/** Milliseconds between two messages to a watcher. */
const interval = 250
/** Messages that a watcher may leave unread, one after the other, before its connection is cut: 30 seconds. */
const mostUnread = 120

interface Watcher {
  matches(seen: Seen): boolean
  window: Window
}

export interface LiveServerOptions {
  dataDir: string
  traffic: Traffic
  onError(message: string, error: unknown): void
}

/**
 * Shows the requests of this process to the watchers of this machine, on a socket of its own below the state directory. Nothing is collected without
 * a watcher. A watcher that does not read is sent less and then cut; its window stays bounded.
 */
export class LiveServer {
  readonly #traffic: Traffic
  readonly #server: Server
  readonly #watchers = new Map<Socket, Watcher>()
  /** Those of watchers, and of clients that have not said what they want to see. */
  readonly #sockets = new Set<Socket>()
  #path: string | null = null

  private constructor(traffic: Traffic) {
    this.#traffic = traffic
    this.#server = createServer((socket) => void this.#serve(socket))
    this.#server.maxConnections = mostWatchers
  }

  /** Opens the socket. A process whose socket cannot be opened serves its visitors and is not shown. */
  static async open({ dataDir, traffic, onError }: LiveServerOptions): Promise<LiveServer> {
    const live = new LiveServer(traffic)
    try {
      await live.#listen(liveDirectory(dataDir))
    } catch (error) {
      onError('Could not open the socket for pagecache top, so it shows no requests of this process', error)
    }
    return live
  }

  async close(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy()
    if (this.#path === null) return
    const closed = new Promise((resolve) => this.#server.close(resolve))
    rmSync(this.#path, { force: true })
    await closed
  }

  async #listen(directory: string): Promise<void> {
    try {
      // The state directory itself is never created here: that would hide the loss of the records.
      mkdirSync(directory, { mode: 0o700 })
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
    }
    const path = join(directory, `${process.pid}-${randomUUID().slice(0, 8)}.sock`)
    const address = socketAddress(path)
    await new Promise<void>((resolve, reject) => {
      this.#server.once('error', reject)
      // Otherwise cluster would listen in the parent, which does not end if this process dies while a connection is on its way to it.
      this.#server.listen({ path: address, exclusive: true }, resolve)
    })
    chmodSync(path, 0o600)
    this.#server.on('error', () => {})
    // A process with nothing else to do may end.
    this.#server.unref()
    this.#path = path
  }

  async #serve(socket: Socket): Promise<void> {
    this.#sockets.add(socket)
    socket.on('error', () => socket.destroy())
    socket.once('close', () => this.#sockets.delete(socket))
    const lines = linesOf(socket, longestLine)
    try {
      const { value: line } = await lines.next()
      if (line !== undefined) this.#watch(socket, JSON.parse(line) as LiveFilter)
      // Reads on, so that the end of the connection is noticed.
      for await (const _ of lines);
    } catch {
      socket.destroy()
    }
  }

  #watch(socket: Socket, filter: LiveFilter): void {
    const watcher: Watcher = { matches: toMatcher(filter), window: new Window() }
    this.#watchers.set(socket, watcher)
    this.#traffic.live = this
    let unread = 0
    const timer = setInterval(() => {
      if (socket.writableNeedDrain) {
        unread += 1
        if (unread > mostUnread) socket.destroy()
      } else {
        unread = 0
        if (!watcher.window.isEmpty) socket.write(`${JSON.stringify(watcher.window.take())}\n`)
      }
    }, interval)
    socket.once('close', () => {
      clearInterval(timer)
      this.#watchers.delete(socket)
      if (this.#watchers.size === 0) this.#traffic.live = null
    })
    socket.write('\n')
  }

  /** Notes a request for everyone who watches. */
  note(seen: Seen): void {
    for (const { matches, window } of this.#watchers.values()) if (matches(seen)) window.add(seen)
  }
}
