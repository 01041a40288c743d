import cluster from 'node:cluster'
import type { Socket } from 'node:net'
import type { LoadedConfig } from '../config/load.ts'
import { fromPlain, type PlainConfig } from '../config/plain.ts'
import { SharedCounts } from '../lib/shared-counts.ts'
import { Inlet } from './inlet.ts'
import type { MetricValues } from '../http/api/metrics.ts'
import type { FromChild, FromParent, Task } from './processes.ts'

/** The process that started this one as one of a daemon's, once it has said what there is to do; null where there is none. */
export async function meetParent(): Promise<Parent | null> {
  if (!cluster.isWorker) return null
  return new Promise((resolve) => {
    const listener = (message: FromParent) => {
      if (message.kind !== 'begin') return
      // At once, so that it hears whatever is said next.
      resolve(new Parent(message.task, message.config))
      process.off('message', listener)
    }
    process.on('message', listener)
    tell({ kind: 'hello' })
  })
}

function tell(message: FromChild): void {
  // Without a callback a parent that has just gone would be an error that nobody catches.
  if (process.connected) process.send!(message, undefined, undefined, () => {})
}

/** The process that started this one. */
export class Parent {
  readonly task: Task
  /** The connections that it accepts. */
  readonly inlet = new Inlet(tell)
  /** What all processes of the daemon count together. */
  readonly shared = new SharedCounts((counted) => tell({ kind: 'counted', counted }))
  readonly #listeners = new Set<(message: FromParent) => void>()
  readonly #gathering = new Map<number, (processes: MetricValues[]) => void>()
  #questions = 0
  #config: PlainConfig
  #taken: PlainConfig | null = null
  /**
   * Resolves when it is time to end, from the beginning: it may be said while we are still starting. Node ends us at once where the
   * parent has gone without a word. A signal that comes to all of us is the parent's alone: it knows who still has to be answered.
   */
  readonly stopped: Promise<unknown>
  readonly #onMessage = (message: FromParent, socket?: Socket) => {
    if (message.kind === 'connection') return this.inlet.take(message.id, socket)
    if (message.kind === 'ping') return tell({ kind: 'pong', handed: message.handed })
    if (message.kind === 'close') return this.inlet.close()
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

  /** The configuration that it gave last, to be used. */
  takeConfig(): LoadedConfig {
    this.#taken = this.#config
    return fromPlain(this.#config)
  }

  /** Whether it has given another one since one was taken. */
  get hasNewConfig(): boolean {
    return this.#taken !== this.#config
  }

  on(listener: (message: FromParent) => void): void {
    this.#listeners.add(listener)
  }

  send(message: FromChild): void {
    tell(message)
  }

  /** The metrics of all processes. */
  gather(): Promise<MetricValues[]> {
    const id = (this.#questions += 1)
    return new Promise((resolve) => {
      this.#gathering.set(id, (processes) => {
        this.#gathering.delete(id)
        resolve(processes)
      })
      this.send({ kind: 'gather', id })
    })
  }

  /** Ends the conversation, which would hold this process. */
  leave(): void {
    process.off('message', this.#onMessage)
    if (process.connected) process.disconnect()
  }
}
