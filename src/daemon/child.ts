import cluster, { type Worker } from 'node:cluster'
import type { Socket } from 'node:net'
import type { Counted } from '../lib/shared-counts.ts'
import type { MetricValues } from '../http/api/metrics.ts'
import type { FromChild, FromParent } from './processes.ts'

/** `serves`: answers requests. `works`: works on the queue. */
export type Role = 'serves' | 'works'

/** How long the metrics of a process are waited for, in milliseconds. */
const metricsPatience = 2000
/** More of what others have counted is not kept for one that does not read; it is owed to nobody. */
const mostUnread = 64

/** How often it is looked whether what a process said before it ended was read, in milliseconds; mostly it was before we hear of its end. */
const lookAgain = 5

let measurements = 0

/** A process of the daemon, as the one that started it sees it. */
export class Child {
  readonly role: Role
  readonly #worker: Worker
  #ready = false
  /** Questions whether it is alive since its last answer. */
  #unanswered = 0
  #unread = 0
  #handed = 0

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

  /** Calls back when it has gone, or could not be started: with its exit code, the signal that ended it, or the error. */
  onExit(gone: (why: string | number) => void): void {
    this.#worker.once('exit', (code, signal) => gone(signal ?? code))
    this.#worker.on('error', (error) => {
      if (this.pid === undefined) gone(error.message)
    })
  }

  /** Calls back when it has gone and all that it said was heard. */
  onSilence(silent: () => void): void {
    // Node says `disconnect` of a process that died with a connection on its way to it only when that has arrived: never.
    const look = () => {
      if (this.#worker.isConnected()) setTimeout(look, lookAgain)
      else silent()
    }
    this.#worker.once('exit', look)
  }

  send(message: FromParent): void {
    // Without a callback a process that has just gone would be an error that nobody catches.
    if (this.#worker.isConnected()) this.#worker.send(message, undefined, undefined, () => {})
  }

  /** Hands over a connection, which stays open here too. */
  hand(id: number, socket: Socket): void {
    this.#handed = id
    const message: FromParent = { kind: 'connection', id }
    if (this.#worker.isConnected()) this.#worker.send(message, socket, { keepOpen: true }, () => {})
  }

  /** Tells what another process has counted. */
  tell(counted: Counted): void {
    if (!this.#ready || !this.#worker.isConnected() || this.#unread >= mostUnread) return
    const message: FromParent = { kind: 'counted', counted }
    this.#unread += 1
    this.#worker.send(message, undefined, undefined, () => void (this.#unread -= 1))
  }

  /** Asks whether it is alive; how often it has not answered that since it did last. While it starts it may be busy for as long as it takes. */
  ping(): number {
    if (!this.#ready) return 0
    // No further question where one is open: they would pile up before a process that stands still.
    if (this.#unanswered === 0) this.send({ kind: 'ping', handed: this.#handed })
    this.#unanswered += 1
    return this.#unanswered - 1
  }

  kill(): void {
    this.#worker.process.kill('SIGKILL')
  }

  /** Null where it does not answer in time, or ends. */
  measure(): Promise<MetricValues | null> {
    const id = (measurements += 1)
    return new Promise((resolve) => {
      const end = (values: MetricValues | null) => {
        clearTimeout(timer)
        this.#worker.off('message', listener)
        this.#worker.off('exit', gone)
        resolve(values)
      }
      const gone = () => end(null)
      const listener = (message: FromChild) => {
        if (message.kind === 'values' && message.id === id) end(message.values)
      }
      const timer = setTimeout(end, metricsPatience, null)
      this.#worker.on('message', listener)
      this.#worker.once('exit', gone)
      this.send({ kind: 'measure', id })
    })
  }
}
