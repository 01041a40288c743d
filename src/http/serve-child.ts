import type { App } from '../app.ts'
import type { LoadedConfig } from '../config/load.ts'
import { fromPlain } from '../config/plain.ts'
import { PagecacheError } from '../errors.ts'
import type { Parent } from './parent.ts'
import { ServeProcess, type ProcessOptions } from './serve-process.ts'

interface ChildOptions extends Pick<ProcessOptions, 'single' | 'log'> {
  open(loaded: LoadedConfig): App
}

/** Runs one of the processes that `supervise` started, until that one says so or has gone. */
export async function serveAsChild(app: App, parent: Parent, options: ChildOptions, stopped: AbortSignal): Promise<void> {
  const { log } = options
  try {
    const { serves, works, host, port, place } = parent.task
    const started = parent.config
    const running = await ServeProcess.start(app, {
      ...{ serves, works, host, port, place, log, single: options.single, gather: () => parent.gather() },
      reopen: () => Promise.resolve(options.open(fromPlain(parent.config))),
    })
    parent.on(message => {
      if (message.kind === 'reload') void running.reload()
      if (message.kind === 'measure') void tellMetrics(parent, running, message.id)
    })
    // It was told while we started.
    if (parent.config !== started) void running.reload()
    parent.send({ kind: 'ready', url: running.daemon?.url ?? null })
    await parent.stops(stopped)
    await running.stop()
  } catch (error) {
    process.exitCode = error instanceof PagecacheError ? error.exit : 1
    // Into the log, as everything that a daemon says: nobody else would.
    if (error instanceof PagecacheError) parent.send({ kind: 'failed', code: error.code, message: error.message, hint: error.hint })
    else log.error('a process of the daemon failed', error)
  } finally {
    parent.leave()
  }
}

async function tellMetrics(parent: Parent, running: ServeProcess, id: number): Promise<void> {
  parent.send({ kind: 'values', id, values: await running.metricValues() })
}
