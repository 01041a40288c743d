import cluster from 'node:cluster'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import type { LoadedConfig } from '../config/load.ts'
import { toPlain, type PlainConfig } from '../config/plain.ts'
import { PagecacheError } from '../errors.ts'
import { Child, type Role } from './child.ts'
import { Door } from './door.ts'
import { GatheredMetrics } from './gathered-metrics.ts'
import type { Place } from './listen.ts'
import type { Log } from './log.ts'
import type { FromChild, Task } from './processes.ts'

export interface SuperviseOptions {
  /** Processes that answer requests. */
  processes: number
  /** Whether one more works on the queue. */
  works: boolean
  place: Place
  task: Omit<Task, 'serves' | 'works'>
  /** What every process works with; none of them reads the file, which may have changed or be faulty since. */
  loaded: LoadedConfig
  log: Log
  stop: AbortSignal
  /** Loads the configuration as it is now. @throws CONFIG_INVALID */
  reload(): Promise<LoadedConfig>
  /** All processes are ready. */
  onReady(port: number): void
}

/** The place of one process; whoever has gone from it is replaced there. */
interface Slot {
  role: Role
  /** How often in turn the process in this place did not live long. */
  failures: number
}

/** A process that ended by itself is started again after this, and after twice as long each time that it did not live long (milliseconds). */
const restartAfter = 500
const longestRestart = 30_000
const livedLong = 10_000
/** Every process is asked this often whether it is alive (milliseconds); one that has not answered so many times stands still and is killed. */
const lookEvery = 1000
const mostUnanswered = 10
/** How long after its own deadline a process that should have ended is killed (milliseconds). */
const lastPatience = 5000
const parentGone = fileURLToPath(new URL('../../bin/parent-gone.cjs', import.meta.url))

/**
 * Runs the daemon as several processes: those that answer requests share the connections that this one accepts, and one works on the
 * queue. Ends when it is told to and all have ended.
 *
 * @throws LISTEN_FAILED, and what a process could not start for
 */
export async function supervise(options: SuperviseOptions): Promise<{ reload(): Promise<void>; ended: Promise<void> }> {
  const { stop } = options
  const supervisor = new Supervisor(options, await Door.open(options.place))
  const stopped = new Promise<void>((resolve) => {
    const end = () => void supervisor.end().then(resolve)
    if (stop.aborted) end()
    stop.addEventListener('abort', end, { once: true })
  })
  try {
    await supervisor.start()
  } catch (error) {
    await supervisor.abandon()
    // Told to end before all were ready: nothing has failed.
    if (!stop.aborted) throw error
  }
  return { reload: () => supervisor.reload(), ended: stopped }
}

class Supervisor {
  readonly #options: SuperviseOptions
  readonly #door: Door
  readonly #children = new Set<Child>()
  readonly #metrics = new GatheredMetrics<Child>()
  readonly #timers = new Set<NodeJS.Timeout>()
  readonly #watch: NodeJS.Timeout
  /** The last one that was found good. */
  #config: PlainConfig
  #reloading: Promise<void> = Promise.resolve()
  /** `stopping`: all goes on as before, for visitors still come; `ending`: none comes any more. */
  #phase: 'running' | 'stopping' | 'ending' = 'running'
  #ended: Promise<void> | null = null
  readonly #onEmpty: (() => void)[] = []

  constructor(options: SuperviseOptions, door: Door) {
    this.#options = options
    this.#door = door
    this.#config = toPlain(options.loaded)
    cluster.setupPrimary({ execArgv: [...process.execArgv, '--require', parentGone] })
    this.#watch = setInterval(() => this.#look(), lookEvery)
  }

  async start(): Promise<void> {
    const { processes, works, onReady } = this.#options
    const roles: Role[] = [
      ...Array.from({ length: processes }, () => 'serves' as const),
      ...(works ? ['works' as const] : []),
    ]
    const children = await Promise.all(roles.map((role) => this.#fork({ role, failures: 0 })))
    // Not before all are there: one that cannot start ends the others.
    this.#admit(...children)
    onReady(this.#door.port ?? this.#options.task.port)
  }

  #admit(...children: Child[]): void {
    for (const child of children) if (child.role === 'serves' && this.#children.has(child)) this.#door.add(child)
  }

  /** Resolves when it is ready. */
  async #fork(slot: Slot): Promise<Child> {
    const child = Child.fork(slot.role)
    const started = performance.now()
    this.#children.add(child)
    return await new Promise((resolve, reject) => {
      let ready = false
      child.on((message) => {
        this.#hear(child, message)
        if (message.kind === 'failed')
          reject(new PagecacheError(message.code, message.message, message.hint === null ? {} : { hint: message.hint }))
        if (message.kind !== 'ready') return
        ready = true
        resolve(child)
      })
      child.onExit((why) => {
        if (!this.#children.delete(child)) return
        this.#metrics.end(child)
        if (this.#children.size === 0) for (const resolveEmpty of this.#onEmpty.splice(0)) resolveEmpty()
        reject(new Error(`a process of the daemon ended before it was ready (${why})`))
        if (ready && this.#replaces(slot)) this.#replace(slot, why, performance.now() - started)
      })
    })
  }

  #hear(child: Child, message: FromChild): void {
    if (message.kind === 'hello') this.#begin(child)
    if (message.kind === 'gather') void this.#gather(child, message.id)
    if (message.kind === 'counted')
      for (const other of this.#children) if (other !== child && other.role === 'serves') other.tell(message.counted)
  }

  #begin(child: Child): void {
    const task = {
      ...this.#options.task,
      port: this.#door.port ?? this.#options.task.port,
      serves: child.role === 'serves',
      works: child.role === 'works',
    }
    // It could not be told before, and has done nothing yet.
    if (this.#phase === 'ending') return child.kill()
    child.send({ kind: 'begin', task, config: this.#config })
    if (this.#phase === 'stopping') child.send({ kind: 'stop' })
  }

  /** Until the last visitor has come there has to be somebody who answers. */
  #replaces({ role }: Slot): boolean {
    return this.#phase === 'running' || (this.#phase === 'stopping' && role === 'serves')
  }

  #replace(slot: Slot, why: string | number, lived: number): void {
    const { log } = this.#options
    slot.failures = lived > livedLong ? 0 : slot.failures + 1
    const delay = Math.min(restartAfter * 2 ** slot.failures, longestRestart)
    log.warn(`A process of the daemon ended (${why}); another one is started in ${delay / 1000} s.`)
    const timer = setTimeout(() => {
      this.#timers.delete(timer)
      this.#fork(slot).then(
        (child) => {
          log.info(`The process ${child.pid} of the daemon has taken that place.`)
          this.#admit(child)
        },
        (error: unknown) => {
          if (!this.#replaces(slot)) return
          log.error('a process of the daemon could not be started', error)
          this.#replace(slot, 'not started', 0)
        },
      )
    }, delay)
    this.#timers.add(timer)
  }

  /** A process that stands still would keep what it was given for as long as it does. Time in which this process stood still too does not count. */
  #look(): void {
    for (const child of this.#children) {
      if (child.ping() < mostUnanswered) continue
      this.#options.log.warn(
        `The process ${child.pid} of the daemon has not answered for ${(mostUnanswered * lookEvery) / 1000} s and is killed.`,
      )
      child.kill()
    }
  }

  /** One reload after the other: what was read last is what is taken up last. */
  reload(): Promise<void> {
    this.#reloading = this.#reloading.then(() => this.#reload())
    return this.#reloading
  }

  async #reload(): Promise<void> {
    if (this.#phase !== 'running') return
    const { log, reload } = this.#options
    try {
      this.#config = toPlain(await reload())
    } catch (error) {
      log.warn(
        `The configuration was not reloaded, and the one before stays: ${error instanceof Error ? error.message : String(error)}`,
      )
      return
    }
    // Whoever has not said hello yet has it from the beginning.
    for (const child of this.#children) child.send({ kind: 'reload', config: this.#config })
  }

  async #gather(asker: Child, id: number): Promise<void> {
    const ready = [...this.#children].filter((child) => child.ready)
    await Promise.all(
      ready.map(async (child) => {
        const values = await child.measure()
        // What it told before it ended is counted already.
        if (values !== null && this.#children.has(child)) this.#metrics.note(child, values)
      }),
    )
    asker.send({ kind: 'measured', id, processes: this.#metrics.all() })
  }

  /** Closes the door when whoever has come is with a process, finishes what is in hand and resolves when all have ended. */
  end(): Promise<void> {
    return (this.#ended ??= this.#end(this.#config.config.server.stopDelay))
  }

  /** The same where the start has failed: nobody is waited for. */
  abandon(): Promise<void> {
    this.#door.shut()
    return (this.#ended ??= this.#end(0))
  }

  async #end(delay: number): Promise<void> {
    this.#phase = 'stopping'
    for (const child of this.#children) child.send({ kind: 'stop' })
    await pause(delay)
    await this.#door.close()
    this.#phase = 'ending'
    for (const timer of this.#timers) clearTimeout(timer)
    const empty =
      this.#children.size === 0 ? Promise.resolve() : new Promise<void>((resolve) => this.#onEmpty.push(resolve))
    for (const child of this.#children) child.send({ kind: 'close' })
    const { server, warmup } = this.#config.config
    const timer = setTimeout(
      () => {
        this.#options.log.warn(`${this.#children.size} processes did not end in time and are killed.`)
        for (const child of this.#children) child.kill()
        // The process that works on the queue finishes the pages that it fetches.
      },
      Math.max(server.stopGrace, warmup.timeout) + lastPatience,
    )
    await empty
    clearTimeout(timer)
    clearInterval(this.#watch)
  }
}
