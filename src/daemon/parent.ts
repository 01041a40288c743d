import cluster from 'node:cluster'
import type { Socket } from 'node:net'
import type { LoadedConfig } from '../config/load.ts'
import { fromPlain, type PlainConfig } from '../config/plain.ts'
import { SharedCounts } from '../lib/shared-counts.ts'
import { ConnectionReceiver } from './connection-receiver.ts'
import type { MetricValues } from '../http/api/metrics.ts'
import type { FromChild, FromParent, Task } from './processes.ts'

/** Waits for this process's task from its parent; null if this process is not a child of a daemon. */
export async function meetParent(): Promise<Parent | null> {
  if (!cluster.isWorker) return null
  return new Promise((resolve) => {
    const listener = (message: FromParent) => {
      if (message.kind !== 'begin') return
      // In the same turn, so that `Parent` hears the next message.
      resolve(new Parent(message.task, message.config))
      process.off('message', listener)
    }
    process.on('message', listener)
    send({ kind: 'hello' })
  })
}

function send(message: FromChild): void {
  // Without a callback, sending to a parent that has just ended would raise an uncaught error.
  if (process.connected) process.send!(message, undefined, undefined, () => {})
}

/** The parent process, as seen by one of a daemon's processes. */
export class Parent {
  readonly task: Task
  /** Receives the connections that it accepts. */
  readonly receiver = new ConnectionReceiver(send)
  /** Counts shared by all processes of the daemon. */
  readonly shared = new SharedCounts((counted) => send({ kind: 'counted', counted }))
  readonly #listeners = new Set<(message: FromParent) => void>()
  readonly #gathering = new Map<number, (processes: MetricValues[]) => void>()
  #lastRequest = 0
  #config: PlainConfig
  #usedConfig: PlainConfig | null = null
  /**
   * Resolves when the parent tells this process to stop, which may happen while it is still starting. If the parent dies, Node ends this
   * process at once. Signals are left to the parent, which knows which visitors still wait.
   */
  readonly stopped: Promise<unknown>
  readonly #onMessage = (message: FromParent, socket?: Socket) => {
    if (message.kind === 'connection') return this.receiver.receive(message.id, socket)
    if (message.kind === 'ping') return send({ kind: 'pong', lastConnection: message.lastConnection })
    if (message.kind === 'close') return this.receiver.close()
    if (message.kind === 'counted') return this.shared.hear(message.counted)
    if (message.kind === 'reload') this.#config = message.config
    if (message.kind === 'measured') this.#gathering.get(message.id)?.(message.processes)
    for (const listener of this.#listeners) listener(message)
  }

  constructor(task: Task, config: PlainConfig) {
    this.task = task
    this.#config = config
    process.on('message', this.#onMessage)
    this.stopped = new Promise((resolve) => this.on(({ kind }) => kind === 'stop' && resolve(null)))
  }

  /** Returns the latest configuration and marks it as used. */
  takeConfig(): LoadedConfig {
    this.#usedConfig = this.#config
    return fromPlain(this.#config)
  }

  /** Whether a newer configuration has arrived since `takeConfig`. */
  get hasNewConfig(): boolean {
    return this.#usedConfig !== this.#config
  }

  on(listener: (message: FromParent) => void): void {
    this.#listeners.add(listener)
  }

  send(message: FromChild): void {
    send(message)
  }

  /** Collects the metrics of all processes. */
  gather(): Promise<MetricValues[]> {
    const id = (this.#lastRequest += 1)
    return new Promise((resolve) => {
      this.#gathering.set(id, (processes) => {
        this.#gathering.delete(id)
        resolve(processes)
      })
      this.send({ kind: 'gather', id })
    })
  }

  /** Closes the channel to the parent, which would keep this process alive. */
  disconnect(): void {
    process.off('message', this.#onMessage)
    if (process.connected) process.disconnect()
  }
}
