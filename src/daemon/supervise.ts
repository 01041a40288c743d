import cluster from 'node:cluster'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import type { LoadedConfig } from '../config/load.ts'
import { toPlain, type PlainConfig } from '../config/plain.ts'
import { PagecacheError } from '../errors.ts'
import { Child, type Role } from './child.ts'
import { Acceptor } from './acceptor.ts'
import { GatheredMetrics } from './gathered-metrics.ts'
import type { ListenAddress } from './listen.ts'
import type { Log } from './log.ts'
import type { FromChild, Task } from './processes.ts'
import { notReloaded, warnNotReloaded, type Reloaded } from './reloaded.ts'

export interface SuperviseOptions {
  /** Number of processes that answer requests. */
  processes: number
  /** Whether one more process consumes the queue. */
  works: boolean
  address: ListenAddress
  task: Omit<Task, 'serves' | 'works'>
  /** The configuration of every process. None reads the file itself, which may have changed or become invalid. */
  loaded: LoadedConfig
  log: Log
  stop: AbortSignal
  /** Loads the current configuration. @throws CONFIG_INVALID */
  reload(): Promise<LoadedConfig>
}

/** The processes of a daemon, once all are ready. */
export interface Supervised {
  /** The TCP port; null on a Unix or inherited socket. */
  port: number | null
  /** Lets visitors in. Until then their connections wait. */
  admit(): void
  reload(): Promise<Reloaded>
  /** Resolves after `stop`, when all processes have ended. */
  ended: Promise<void>
}

/** One of the daemon's processes, across its restarts. */
interface Slot {
  role: Role
  /** How many times in a row the process ended soon after its start. */
  shortLives: number
}

/** Milliseconds until a process that ended by itself is restarted; doubled after each short life. */
const restartDelay = 500
/** Milliseconds. */
const maxRestartDelay = 30_000
/** Milliseconds. A process that lived shorter had a short life. */
const shortLife = 10_000
/** Milliseconds between two pings of a process. */
const pingInterval = 1000
/** Unanswered pings after which a process counts as hanging and is killed. */
const maxUnanswered = 10
/** Milliseconds between a process's own deadline for ending and the moment it is killed. */
const killDelay = 5000
const parentGone = fileURLToPath(new URL('../../bin/parent-gone.cjs', import.meta.url))

/**
 * Runs the daemon as several processes. This one accepts the connections and distributes them to the processes that answer requests; one
 * more consumes the queue. Resolves when all are ready.
 *
 * @throws LISTEN_FAILED, or the error for which a process could not start
 */
export async function supervise(options: SuperviseOptions): Promise<Supervised> {
  const { stop } = options
  const supervisor = new Supervisor(options, await Acceptor.open(options.address))
  const stopped = new Promise<void>((resolve) => {
    const end = () => void supervisor.end().then(resolve)
    if (stop.aborted) end()
    stop.addEventListener('abort', end, { once: true })
  })
  try {
    await supervisor.start()
  } catch (error) {
    await supervisor.abort()
    // If stopped during the start, the start has not failed.
    if (!stop.aborted) throw error
  }
  return {
    port: supervisor.port,
    admit: () => supervisor.admit(),
    reload: () => supervisor.reload(),
    ended: stopped,
  }
}

class Supervisor {
  readonly #options: SuperviseOptions
  readonly #acceptor: Acceptor
  readonly #children = new Set<Child>()
  readonly #metrics = new GatheredMetrics<Child>()
  readonly #timers = new Set<NodeJS.Timeout>()
  readonly #watch: NodeJS.Timeout
  /** The last valid configuration. */
  #config: PlainConfig
  #reloading: Promise<unknown> = Promise.resolve()
  /** `stopping`: not ready, but visitors still arrive and are served; `ending`: no more visitors arrive. */
  #phase: 'running' | 'stopping' | 'ending' = 'running'
  #ended: Promise<void> | null = null
  readonly #onEmpty: (() => void)[] = []

  constructor(options: SuperviseOptions, acceptor: Acceptor) {
    this.#options = options
    this.#acceptor = acceptor
    this.#config = toPlain(options.loaded)
    cluster.setupPrimary({ execArgv: [...process.execArgv, '--require', parentGone] })
    this.#watch = setInterval(() => this.#pingAll(), pingInterval)
  }

  get port(): number | null {
    return this.#acceptor.port
  }

  async start(): Promise<void> {
    const { processes, works } = this.#options
    const roles: Role[] = [
      ...Array.from({ length: processes }, () => 'serves' as const),
      ...(works ? ['works' as const] : []),
    ]
    await Promise.all(roles.map((role) => this.#fork({ role, shortLives: 0 })))
  }

  admit(): void {
    for (const child of this.#children) if (child.ready) this.#admit(child)
  }

  #admit(child: Child): void {
    if (child.role === 'serves' && this.#children.has(child)) this.#acceptor.add(child)
  }

  /** Starts a process. Resolves when it is ready. */
  async #fork(slot: Slot): Promise<Child> {
    const child = Child.fork(slot.role)
    const started = performance.now()
    this.#children.add(child)
    return await new Promise((resolve, reject) => {
      let ready = false
      child.on((message) => {
        this.#onMessage(child, message)
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
        reject(new Error(`A process of the daemon ended before it was ready (${why})`))
        if (ready && this.#shouldReplace(slot)) this.#replace(slot, why, performance.now() - started)
      })
    })
  }

  #onMessage(child: Child, message: FromChild): void {
    if (message.kind === 'hello') this.#begin(child)
    if (message.kind === 'gather') void this.#gather(child, message.id)
    if (message.kind === 'counted')
      for (const other of this.#children)
        if (other !== child && other.role === 'serves') other.sendCounts(message.counted)
  }

  #begin(child: Child): void {
    const task = {
      ...this.#options.task,
      port: this.port ?? this.#options.task.port,
      serves: child.role === 'serves',
      works: child.role === 'works',
    }
    // It was not listening when the others were notified, and has done nothing yet.
    if (this.#phase === 'ending') return child.kill()
    child.send({ kind: 'begin', task, config: this.#config })
    if (this.#phase === 'stopping') child.send({ kind: 'stop' })
  }

  /** While visitors still arrive, some process must answer them. */
  #shouldReplace({ role }: Slot): boolean {
    return this.#phase === 'running' || (this.#phase === 'stopping' && role === 'serves')
  }

  #replace(slot: Slot, why: string | number, lived: number): void {
    const { log } = this.#options
    slot.shortLives = lived > shortLife ? 0 : slot.shortLives + 1
    const delay = Math.min(restartDelay * 2 ** slot.shortLives, maxRestartDelay)
    log.warn(`A process of the daemon ended (${why}). Restarting it in ${delay / 1000} s.`)
    const timer = setTimeout(() => {
      this.#timers.delete(timer)
      this.#fork(slot).then(
        (child) => {
          log.info(`Process ${child.pid} of the daemon replaces it.`)
          this.#admit(child)
        },
        (error: unknown) => {
          if (!this.#shouldReplace(slot)) return
          log.error('Could not start a process of the daemon', error)
          this.#replace(slot, 'not started', 0)
        },
      )
    }, delay)
    this.#timers.add(timer)
  }

  /** Kills processes that hang, since they would keep their connections. Counts pings, so that a pause of this process does no harm. */
  #pingAll(): void {
    for (const child of this.#children) {
      if (child.ping() < maxUnanswered) continue
      this.#options.log.warn(
        `Process ${child.pid} of the daemon has not answered for ${(maxUnanswered * pingInterval) / 1000} s. Killing it.`,
      )
      child.kill()
    }
  }

  /** Reloads run one at a time, so that the configuration read last is applied last. */
  reload(): Promise<Reloaded> {
    const reloaded = this.#reloading.then(() => this.#reload())
    this.#reloading = reloaded
    return reloaded
  }

  async #reload(): Promise<Reloaded> {
    if (this.#phase !== 'running') return notReloaded('the daemon is stopping')
    const { log, reload } = this.#options
    try {
      const loaded = await reload()
      this.#config = toPlain(loaded)
      const errors = await Promise.all([...this.#children].map((child) => child.reload(this.#config)))
      return { loaded, error: errors.find((error) => error !== null) ?? null }
    } catch (error) {
      return warnNotReloaded(log, (error as Error).message)
    }
  }

  async #gather(requester: Child, id: number): Promise<void> {
    const ready = [...this.#children].filter((child) => child.ready)
    await Promise.all(
      ready.map(async (child) => {
        const values = await child.measure()
        // The counts of an ended process have already been added up.
        if (values !== null && this.#children.has(child)) this.#metrics.note(child, values)
      }),
    )
    requester.send({ kind: 'measured', id, processes: this.#metrics.all() })
  }

  /** Stops accepting once each connection is with a process, lets active requests finish and resolves when all processes have ended. */
  end(): Promise<void> {
    return (this.#ended ??= this.#end(this.#config.config.server.stopDelay))
  }

  /** Ends everything after a failed start, without waiting for visitors. */
  abort(): Promise<void> {
    this.#acceptor.abort()
    return (this.#ended ??= this.#end(0))
  }

  async #end(delay: number): Promise<void> {
    this.#phase = 'stopping'
    for (const child of this.#children) child.send({ kind: 'stop' })
    await pause(delay)
    await this.#acceptor.close()
    this.#phase = 'ending'
    for (const timer of this.#timers) clearTimeout(timer)
    const empty =
      this.#children.size === 0 ? Promise.resolve() : new Promise<void>((resolve) => this.#onEmpty.push(resolve))
    for (const child of this.#children) child.send({ kind: 'close' })
    const { server, warmup } = this.#config.config
    // The process that consumes the queue finishes the pages that it is fetching.
    const timer = setTimeout(
      () => {
        this.#options.log.warn(`${this.#children.size} processes did not end in time. Killing them.`)
        for (const child of this.#children) child.kill()
      },
      Math.max(server.stopGrace, warmup.timeout) + killDelay,
    )
    await empty
    clearTimeout(timer)
    clearInterval(this.#watch)
  }
}
