import type { App } from '../app.ts'
import { inheritedSockets } from '../config/environment.ts'
import { assertStateDirectory } from '../config/project-directory.ts'
import type { LoadedConfig } from '../config/load.ts'
import type { ChannelOptions } from '../cache/channel.ts'
import { Hangup } from './hangup.ts'
import { describePlace, inheritedPlace, removeStale, type Place } from './listen.ts'
import { openLog, type Log } from './log.ts'
import type { Parent } from './parent.ts'
import { ServeProcess, type ProcessOptions } from './serve-process.ts'

export interface ServeOptions {
  /** The process that this one belongs to; null where it is a daemon by itself. */
  parent: Parent | null
  /** Loads the configuration as it is now. @throws CONFIG_INVALID */
  reload(): Promise<LoadedConfig>
  /** An app with a configuration that was loaded anew. */
  open(loaded: LoadedConfig): App
  single: ProcessOptions['single']
  /** Whether the daemon works on the queue itself. */
  works: boolean
  /** A terminal: its lines are for somebody who reads along, and its end is the daemon's. */
  terminal: boolean
  /** Told to stop. */
  stop: AbortSignal
  /** What is told from now on goes there. */
  onLog(log: Log): void
  onReady(url: string, channels: readonly ChannelOptions[], log: Log): void
}

/**
 * Runs the daemon until it is told to stop: as one process, or as several (decision 34).
 *
 * @throws LISTEN_FAILED when the address is taken or not ours
 */
export async function serve(app: App, options: ServeOptions): Promise<{ url: string }> {
  const hangup = new Hangup(options.terminal)
  const { parent } = options
  const { server } = app.config
  const logging = parent?.task.logging ?? app.config.log
  const format = logging.format === 'auto' ? (options.terminal ? 'text' : 'json') : logging.format
  const log = await openLog(format, logging.access)
  options.onLog(log)
  try {
    if (parent !== null) return await serveChild(app, parent, options, log)
    assertStateDirectory(app.loaded.places.dataDir)
    const place = placeOf(server.socket)
    if (place?.kind === 'unix') await removeStale(place.path)
    return server.processes === 1
      ? await serveAlone(app, options, log, hangup, place)
      : await serveMany(app, options, log, hangup, place)
  } finally {
    hangup.release()
    log.close()
  }
}

function placeOf(socket: string | null): Exclude<Place, { kind: 'tcp' }> | null {
  const inherited = inheritedPlace(inheritedSockets(process.pid))
  if (inherited !== null) return inherited
  return socket === null ? null : { kind: 'unix', path: socket }
}

async function serveAlone(
  app: App,
  options: ServeOptions,
  log: Log,
  hangup: Hangup,
  place: ProcessOptions['place'],
): Promise<{ url: string }> {
  const { host, port } = app.config.server
  const running = await ServeProcess.start(app, {
    ...options,
    host,
    port,
    place,
    log,
    gather: null,
    inlet: null,
    shared: null,
    serves: true,
    reopen: async () => options.open(await options.reload()),
  })
  const daemon = running.daemon!
  options.onReady(daemon.url, daemon.channels(), log)
  hangup.follow(() => running.reload())
  await aborted(options.stop)
  await running.stop()
  return { url: daemon.url }
}

async function serveMany(
  app: App,
  options: ServeOptions,
  log: Log,
  hangup: Hangup,
  place: ProcessOptions['place'],
): Promise<{ url: string }> {
  const { supervise } = await import('./supervise.ts')
  const { server } = app.config
  let at: Place = place ?? { kind: 'tcp', host: server.host, port: server.port }
  const supervised = await supervise({
    ...{ processes: server.processes, works: options.works, log, stop: options.stop, loaded: app.loaded, place: at },
    task: { host: server.host, port: server.port, place, logging: app.config.log },
    reload: () => options.reload(),
    onReady: (port) => {
      if (at.kind === 'tcp') at = { ...at, port }
      options.onReady(describePlace(at), app.config.salesChannels, log)
    },
  })
  hangup.follow(() => supervised.reload())
  await supervised.ended
  return { url: describePlace(at) }
}

async function serveChild(app: App, parent: Parent, options: ServeOptions, log: Log): Promise<{ url: string }> {
  const { serveAsChild } = await import('./serve-child.ts')
  await serveAsChild(app, parent, { single: options.single, open: (loaded) => options.open(loaded), log })
  return { url: '' }
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) return resolve()
    signal.addEventListener('abort', () => resolve(), { once: true })
  })
}
