import cluster, { type Worker } from 'node:cluster'
import { fileURLToPath } from 'node:url'
import type { LoadedConfig } from '../config/load.ts'
import { toPlain, type PlainConfig } from '../config/plain.ts'
import { PagecacheError } from '../errors.ts'
import { GatheredMetrics } from './gathered-metrics.ts'
import type { Log } from './log.ts'
import type { MetricValues } from './metrics.ts'
import type { FromChild, FromParent, Task } from './processes.ts'

export interface SuperviseOptions {
  /** Processes that answer requests. */
  processes: number
  /** Whether one more works on the queue. */
  works: boolean
  task: Omit<Task, 'serves' | 'works'>
  /** What every process works with; none of them reads the file, which may have changed or be faulty since. */
  loaded: LoadedConfig
  log: Log
  /** Milliseconds after which a process that should have stopped is killed. */
  patience: number
  stop: AbortSignal
  /** Loads the configuration as it is now. @throws CONFIG_INVALID */
  reload(): Promise<LoadedConfig>
  onReady(url: string): void
}

type Role = 'serves' | 'works'

/** A process that ended by itself is started again after this, and after twice as long each time that it did not live long (milliseconds). */
const restartAfter = 500
const longestRestart = 30_000
const livedLong = 10_000
/** How long the metrics of a process are waited for, in milliseconds. */
const metricsPatience = 2000
const parentGone = fileURLToPath(new URL('../../bin/parent-gone.cjs', import.meta.url))

/**
 * Runs the daemon as several processes: those that answer requests share the connections that this one accepts, and one works on the
 * queue. Ends when it is told to and all have ended.
 *
 * @throws what a process could not start for
 */
export async function supervise(options: SuperviseOptions): Promise<{ reload(): Promise<void>; ended: Promise<void> }> {
  const supervisor = new Supervisor(options)
  try {
    await supervisor.start()
  } catch (error) {
    await supervisor.end()
    throw error
  }
  const ended = new Promise<void>(resolve => {
    const end = () => void supervisor.end().then(resolve)
    if (options.stop.aborted) end()
    options.stop.addEventListener('abort', end, { once: true })
  })
  return { reload: () => supervisor.reload(), ended }
}

class Supervisor {
  readonly #options: SuperviseOptions
  readonly #children = new Map<Worker, Role>()
  /** Those that have started, and answer. */
  readonly #ready = new Set<Worker>()
  readonly #metrics = new GatheredMetrics<Worker>()
  readonly #timers = new Set<NodeJS.Timeout>()
  /** The last one that was found good. */
  #config: PlainConfig
  #failures = 0
  #ending = false
  readonly #onEmpty: (() => void)[] = []

  constructor(options: SuperviseOptions) {
    this.#options = options
    this.#config = toPlain(options.loaded)
    cluster.setupPrimary({ execArgv: [...process.execArgv, '--require', parentGone] })
    // Even shares, whatever the system does with a socket that several wait on.
    cluster.schedulingPolicy = cluster.SCHED_RR
  }

  async start(): Promise<void> {
    const { processes, works, onReady } = this.#options
    const roles: Role[] = [...Array.from({ length: processes }, () => 'serves' as const), ...(works ? ['works' as const] : [])]
    const urls = await Promise.all(roles.map(role => this.#fork(role)))
    onReady(urls.find(url => url !== null) ?? '')
  }

  /** Resolves to where it listens when it is ready. */
  #fork(role: Role): Promise<string | null> {
    const child = cluster.fork()
    const started = performance.now()
    this.#children.set(child, role)
    return new Promise((resolve, reject) => {
      let ready = false
      child.on('message', (message: FromChild) => {
        if (message.kind === 'hello') this.#begin(child, role)
        if (message.kind === 'gather') void this.#gather(child, message.id)
        if (message.kind === 'failed') reject(new PagecacheError(message.code, message.message, message.hint === null ? {} : { hint: message.hint }))
        if (message.kind !== 'ready') return
        ready = true
        this.#ready.add(child)
        resolve(message.url)
      })
      child.once('exit', (code, signal) => {
        this.#children.delete(child)
        this.#ready.delete(child)
        this.#metrics.end(child)
        if (this.#children.size === 0) for (const resolveEmpty of this.#onEmpty.splice(0)) resolveEmpty()
        reject(new Error(`a process of the daemon ended before it was ready (${signal ?? code})`))
        if (ready && !this.#ending) this.#replace(role, signal ?? code, performance.now() - started)
      })
    })
  }

  #begin(child: Worker, role: Role): void {
    const task = { ...this.#options.task, serves: role === 'serves', works: role === 'works' }
    // It could not be told before, and has done nothing yet.
    if (this.#ending) child.process.kill('SIGKILL')
    else send(child, { kind: 'begin', task, config: this.#config })
  }

  #replace(role: Role, why: string | number, lived: number): void {
    const { log } = this.#options
    this.#failures = lived > livedLong ? 0 : this.#failures + 1
    const delay = Math.min(restartAfter * 2 ** this.#failures, longestRestart)
    log.warn(`A process of the daemon ended (${why}); another one is started in ${delay / 1000} s.`)
    const timer = setTimeout(() => {
      this.#timers.delete(timer)
      this.#fork(role).catch((error: unknown) => {
        log.error('a process of the daemon could not be started', error)
        if (!this.#ending) this.#replace(role, 'not started', 0)
      })
    }, delay)
    this.#timers.add(timer)
  }

  async reload(): Promise<void> {
    const { log, reload } = this.#options
    try {
      this.#config = toPlain(await reload())
    } catch (error) {
      log.warn(`The configuration was not reloaded, and the one before stays: ${error instanceof Error ? error.message : String(error)}`)
      return
    }
    for (const child of this.#children.keys()) send(child, { kind: 'reload', config: this.#config })
  }

  async #gather(asker: Worker, id: number): Promise<void> {
    await Promise.all([...this.#ready].map(async child => {
      const values = await measure(child)
      // What it told before it ended is counted already.
      if (values !== null && this.#ready.has(child)) this.#metrics.note(child, values)
    }))
    send(asker, { kind: 'measured', id, processes: this.#metrics.all() })
  }

  async end(): Promise<void> {
    if (this.#ending) return
    this.#ending = true
    for (const timer of this.#timers) clearTimeout(timer)
    const empty = this.#children.size === 0 ? Promise.resolve() : new Promise<void>(resolve => this.#onEmpty.push(resolve))
    for (const child of this.#children.keys()) send(child, { kind: 'stop' })
    const timer = setTimeout(() => {
      this.#options.log.warn(`${this.#children.size} processes did not end in time and are killed.`)
      for (const child of this.#children.keys()) child.process.kill('SIGKILL')
    }, this.#options.patience)
    await empty
    clearTimeout(timer)
  }
}

let measurements = 0

/** Null where the process does not answer in time, or ends. */
function measure(child: Worker): Promise<MetricValues | null> {
  const id = (measurements += 1)
  return new Promise(resolve => {
    const end = (values: MetricValues | null) => {
      clearTimeout(timer)
      child.off('message', listener)
      child.off('exit', gone)
      resolve(values)
    }
    const gone = () => end(null)
    const listener = (message: FromChild) => {
      if (message.kind === 'values' && message.id === id) end(message.values)
    }
    const timer = setTimeout(end, metricsPatience, null)
    child.on('message', listener)
    child.once('exit', gone)
    send(child, { kind: 'measure', id })
  })
}

function send(child: Worker, message: FromParent): void {
  // Without a callback a process that has just gone would be an error that nobody catches.
  if (child.isConnected()) child.send(message, undefined, undefined, () => {})
}
