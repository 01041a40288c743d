import type { App } from '../app.ts'
import { inheritedSockets, processVariables } from '../config/environment.ts'
import { unknownVariables } from '../config/keys.ts'
import { assertStateDirectory } from '../config/project-directory.ts'
import type { LoadedConfig } from '../config/load.ts'
import type { ChannelOptions } from '../cache/channel.ts'
import { DaemonFile } from './daemon-file.ts'
import { Hangup } from './hangup.ts'
import { describeAddress, inheritedAddress, removeStale, type ListenAddress } from './listen.ts'
import { openLog, type Log } from './log.ts'
import type { Parent } from './parent.ts'
import { ServeProcess, type ProcessOptions } from './serve-process.ts'
import type { Reloaded } from './reloaded.ts'
import { watchConfig } from './watch-config.ts'

export interface ServeOptions {
  /** The parent process; null if this process is the daemon itself. */
  parent: Parent | null
  /** Loads the current configuration. @throws CONFIG_INVALID */
  reload(): Promise<LoadedConfig>
  /** Opens an app with a reloaded configuration. */
  open(loaded: LoadedConfig): App
  /** Whether to read the configuration again whenever its file changes. */
  watchesConfig: boolean
  /** Whether the daemon consumes the queue itself. */
  works: boolean
  /** Whether the daemon runs on a terminal: it then logs text. */
  terminal: boolean
  /** Stops the daemon. */
  stop: AbortSignal
  /** Called with the log once it is open. */
  onLog(log: Log): void
  onReady(url: string, channels: readonly ChannelOptions[], log: Log): void
}

/**
 * Runs the daemon until `stop`, as one process or as several (docs/decisions/0034-processes.md).
 *
 * @throws LISTEN_FAILED when the address is in use or not permitted
 */
export async function serve(app: App, options: ServeOptions): Promise<{ url: string }> {
  const hangup = new Hangup()
  const { parent } = options
  const { server } = app.config
  const logging = parent?.task.logging ?? app.config.log
  const format = logging.format === 'auto' ? (options.terminal ? 'text' : 'json') : logging.format
  const log = await openLog(format, logging.access)
  options.onLog(log)
  try {
    if (parent !== null) return await serveChild(app, parent, options, log)
    warnOfUnknownVariables(log)
    assertStateDirectory(app.loaded.places.dataDir)
    const address = socketAddress(server.socket)
    if (address?.kind === 'unix') await removeStale(address.path)
    return server.processes === 1
      ? await serveAlone(app, options, log, hangup, address)
      : await serveMany(app, options, log, hangup, address)
  } finally {
    hangup.release()
    log.close()
  }
}

function warnOfUnknownVariables(log: Log): void {
  const unknown = unknownVariables(processVariables()).map(({ name, guess }) =>
    guess === null ? name : `${name} (did you mean ${guess}?)`,
  )
  if (unknown.length > 0) log.warn(`Unknown environment variables are ignored: ${unknown.join(', ')}`)
}

/** The inherited or configured socket; null: TCP. */
function socketAddress(socket: string | null): Exclude<ListenAddress, { kind: 'tcp' }> | null {
  const inherited = inheritedAddress(inheritedSockets(process.pid))
  if (inherited !== null) return inherited
  return socket === null ? null : { kind: 'unix', path: socket }
}

async function serveAlone(
  app: App,
  options: ServeOptions,
  log: Log,
  hangup: Hangup,
  address: ProcessOptions['address'],
): Promise<{ url: string }> {
  const { host, port, proxyProtocol } = app.config.server
  const running = await ServeProcess.start(app, {
    ...options,
    host,
    port,
    address,
    proxyProtocol,
    log,
    gather: null,
    receiver: null,
    shared: null,
    serves: true,
    reopen: async () => options.open(await options.reload()),
  })
  const { address: listening } = running.daemon!
  const release = steer(app, listening, () => running.reload(), { options, log, hangup })
  options.onReady(describeAddress(listening), app.config.salesChannels, log)
  await aborted(options.stop)
  await running.stop()
  release()
  return { url: describeAddress(listening) }
}

async function serveMany(
  app: App,
  options: ServeOptions,
  log: Log,
  hangup: Hangup,
  address: ProcessOptions['address'],
): Promise<{ url: string }> {
  const { supervise } = await import('./supervise.ts')
  const { server } = app.config
  const asked: ListenAddress = address ?? { kind: 'tcp', host: server.host, port: server.port }
  const supervised = await supervise({
    processes: server.processes,
    works: options.works,
    log,
    stop: options.stop,
    loaded: app.loaded,
    address: asked,
    task: {
      host: server.host,
      port: server.port,
      address,
      proxyProtocol: server.proxyProtocol,
      logging: app.config.log,
    },
    reload: () => options.reload(),
  })
  const { port } = supervised
  const listening = asked.kind === 'tcp' && port !== null ? { ...asked, port } : asked
  const release = steer(app, listening, () => supervised.reload(), { options, log, hangup })
  // A command may follow the first answer at once: by then the daemon has described itself.
  supervised.admit()
  options.onReady(describeAddress(listening), app.config.salesChannels, log)
  await supervised.ended
  release()
  return { url: describeAddress(listening) }
}

async function serveChild(app: App, parent: Parent, options: ServeOptions, log: Log): Promise<{ url: string }> {
  const { serveAsChild } = await import('./serve-child.ts')
  await serveAsChild(app, parent, { open: (loaded) => options.open(loaded), log })
  return { url: '' }
}

/**
 * Describes the running daemon for the other commands of its project, and reloads it on SIGHUP and, if asked to, when its file changes.
 *
 * @returns ends all of that
 */
function steer(
  { loaded }: App,
  listening: ListenAddress,
  reload: () => Promise<Reloaded>,
  { options, log, hangup }: { options: ServeOptions; log: Log; hangup: Hangup },
): () => void {
  const where = { url: describeAddress(listening), port: listening.kind === 'tcp' ? listening.port : null }
  const file = new DaemonFile(loaded, where, (error) =>
    log.warn(`Could not describe this daemon for other commands: ${(error as Error).message}`),
  )
  const reloadAndDescribe = async () => {
    const reloaded = await reload()
    file.reloaded(reloaded.loaded, reloaded.error)
  }
  hangup.onReload(reloadAndDescribe)
  const unwatch = options.watchesConfig
    ? watchConfig(loaded.places.configFile, () => void reloadAndDescribe())
    : () => {}
  return () => {
    unwatch()
    file.close()
  }
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) return resolve()
    signal.addEventListener('abort', () => resolve(), { once: true })
  })
}
