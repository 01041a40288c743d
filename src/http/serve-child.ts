import type { App } from '../app.ts'
import { PagecacheError } from '../errors.ts'
import type { MetricValues } from './metrics.ts'
import type { FromChild, FromParent } from './processes.ts'
import { ServeProcess, type ProcessOptions } from './serve-process.ts'

type ChildOptions = Omit<ProcessOptions, 'serves' | 'works' | 'port' | 'place' | 'gather'>

/** Runs one of the processes that `supervise` started, until that one says so or has gone. */
export async function serveAsChild(app: App, options: ChildOptions, stopped: AbortSignal): Promise<void> {
  const parent = new Parent()
  try {
    const told = parent.next('begin')
    parent.send({ kind: 'hello' })
    const { kind: _, ...role } = await told
    const running = await ServeProcess.start(app, { ...options, ...role, gather: () => parent.gather() })
    parent.on(message => {
      if (message.kind === 'reload') void running.reload()
      if (message.kind === 'measure') void tellMetrics(parent, running, message.id)
    })
    parent.send({ kind: 'ready', url: running.daemon?.url ?? null })
    await parent.stops(stopped)
    await running.stop()
  } catch (error) {
    if (!(error instanceof PagecacheError)) throw error
    parent.send({ kind: 'failed', code: error.code, message: error.message, hint: error.hint })
    process.exitCode = error.exit
  } finally {
    parent.leave()
  }
}

async function tellMetrics(parent: Parent, { daemon }: ServeProcess, id: number): Promise<void> {
  parent.send({ kind: 'values', id, values: daemon === null ? [] : await daemon.metricValues() })
}

/** The process that started this one. */
class Parent {
  readonly #listeners = new Set<(message: FromParent) => void>()
  readonly #gathering = new Map<number, (processes: MetricValues[]) => void>()
  #questions = 0
  /** From the beginning: it may be said while we are still starting. */
  readonly #stopped: Promise<unknown>
  readonly #onMessage = (message: FromParent) => {
    if (message.kind === 'measured') this.#gathering.get(message.id)?.(message.processes)
    for (const listener of this.#listeners) listener(message)
  }

  constructor() {
    process.on('message', this.#onMessage)
    this.#stopped = this.next('stop')
  }

  on(listener: (message: FromParent) => void): void {
    this.#listeners.add(listener)
  }

  send(message: FromChild): void {
    // Without a callback a parent that has just gone would be an error that nobody catches.
    if (process.connected) process.send!(message, undefined, undefined, () => {})
  }

  next<Kind extends FromParent['kind']>(kind: Kind): Promise<Extract<FromParent, { kind: Kind }>> {
    return new Promise(resolve => {
      const listener = (message: FromParent) => {
        if (message.kind !== kind) return
        this.#listeners.delete(listener)
        resolve(message as Extract<FromParent, { kind: Kind }>)
      }
      this.on(listener)
    })
  }

  /** Resolves when it is time to end. Node ends us at once where the parent has gone without a word. */
  stops(stopped: AbortSignal): Promise<void> {
    return new Promise(resolve => {
      if (stopped.aborted) resolve()
      stopped.addEventListener('abort', () => resolve(), { once: true })
      void this.#stopped.then(() => resolve())
    })
  }

  /** The metrics of all processes. */
  gather(): Promise<MetricValues[]> {
    const id = (this.#questions += 1)
    return new Promise(resolve => {
      this.#gathering.set(id, processes => {
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
