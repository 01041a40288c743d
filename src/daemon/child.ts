import cluster, { type Worker } from 'node:cluster'
import type { Socket } from 'node:net'
import type { PlainConfig } from '../config/plain.ts'
import type { Counted } from '../lib/shared-counts.ts'
import type { MetricValues } from '../http/api/metrics.ts'
import type { FromChild, FromParent } from './processes.ts'

/** `serves`: answers requests. `works`: consumes the queue. */
export type Role = 'serves' | 'works'

/** Milliseconds to wait for the metrics of a process. */
const metricsTimeout = 2000
/** Milliseconds to wait until a process uses a new configuration. */
const reloadTimeout = 30_000
/** Messages with counts that may be pending for a process that does not read. Further ones are dropped: they are best-effort. */
const maxUnread = 64

/** Milliseconds between two checks whether all messages of an ended process have been read. */
const checkInterval = 5

let lastMeasurement = 0

/** A process of the daemon, as seen by its parent. */
export class Child {
  readonly role: Role
  readonly #worker: Worker
  #ready = false
  /** Pings since its last answer. */
  #unanswered = 0
  #unread = 0
  /** The id of the last connection that was sent to it. */
  #lastConnection = 0

  private constructor(role: Role, worker: Worker) {
    this.role = role
    this.#worker = worker
    this.on((message) => {
      if (message.kind === 'pong') this.#unanswered = 0
      if (message.kind === 'ready') this.#ready = true
    })
  }

  static fork(role: Role): Child {
    return new Child(role, cluster.fork())
  }

  /** Whether it has started. */
  get ready(): boolean {
    return this.#ready
  }

  get pid(): number | undefined {
    return this.#worker.process.pid
  }

  on(listener: (message: FromChild) => void): void {
    this.#worker.on('message', listener)
  }

  /** Calls back with the exit code, the signal or the error when the process has ended or could not be started. */
  onExit(listener: (why: string | number) => void): void {
    this.#worker.once('exit', (code, signal) => listener(signal ?? code))
    this.#worker.on('error', (error) => {
      if (this.pid === undefined) listener(error.message)
    })
  }

  /** Calls back when the process has ended and all its messages have been read. */
  onDisconnect(listener: () => void): void {
    // `disconnect` does not help: if a process dies while a connection is being sent to it, Node never emits that event.
    const check = () => {
      if (this.#worker.isConnected()) setTimeout(check, checkInterval)
      else listener()
    }
    this.#worker.once('exit', check)
  }

  send(message: FromParent): void {
    // Without a callback, sending to a process that has just ended would raise an uncaught error.
    if (this.#worker.isConnected()) this.#worker.send(message, undefined, undefined, () => {})
  }

  /** Sends a connection to the process; it stays open here too. */
  sendConnection(id: number, socket: Socket): void {
    this.#lastConnection = id
    const message: FromParent = { kind: 'connection', id }
    if (this.#worker.isConnected()) this.#worker.send(message, socket, { keepOpen: true }, () => {})
  }

  /** Forwards what another process has counted. */
  sendCounts(counted: Counted): void {
    if (!this.#ready || !this.#worker.isConnected() || this.#unread >= maxUnread) return
    const message: FromParent = { kind: 'counted', counted }
    this.#unread += 1
    this.#worker.send(message, undefined, undefined, () => void (this.#unread -= 1))
  }

  /** Pings the process. Returns how many pings it has left unanswered; 0 while it is starting, which may take any time. */
  ping(): number {
    if (!this.#ready) return 0
    // At most one open ping: they would pile up for a process that hangs.
    if (this.#unanswered === 0) this.send({ kind: 'ping', lastConnection: this.#lastConnection })
    this.#unanswered += 1
    return this.#unanswered - 1
  }

  kill(): void {
    this.#worker.process.kill('SIGKILL')
  }

  /** Collects the metrics of the process; null if it does not answer in time or ends. */
  async measure(): Promise<MetricValues | null> {
    const id = (lastMeasurement += 1)
    const values = await this.#ask({ kind: 'measure', id }, metricsTimeout, (message) =>
      message.kind === 'values' && message.id === id ? message : null,
    )
    return values?.values ?? null
  }

  /** Gives the process a new configuration. Returns why it kept the previous one; null if it did not. */
  async reload(config: PlainConfig): Promise<string | null> {
    // A process that is still starting uses it before it is ready.
    if (!this.#ready) return (this.send({ kind: 'reload', config }), null)
    const answer = await this.#ask({ kind: 'reload', config }, reloadTimeout, (message) =>
      message.kind === 'reloaded' ? message : null,
    )
    return answer?.error ?? null
  }

  /** Sends a message and waits for its answer; null if it does not come in time or the process ends. */
  #ask<T>(message: FromParent, timeout: number, pick: (answer: FromChild) => T | null): Promise<T | null> {
    return new Promise((resolve) => {
      const end = (answer: T | null) => {
        clearTimeout(timer)
        this.#worker.off('message', listener)
        this.#worker.off('exit', onExit)
        resolve(answer)
      }
      const onExit = () => end(null)
      const listener = (received: FromChild) => {
        const answer = pick(received)
        if (answer !== null) end(answer)
      }
      const timer = setTimeout(end, timeout, null)
      this.#worker.on('message', listener)
      this.#worker.once('exit', onExit)
      this.send(message)
    })
  }
}
