import type { App } from '../app.ts'
import type { LoadedConfig } from '../config/load.ts'
import { PagecacheError } from '../errors.ts'
import type { Parent } from './parent.ts'
import { ServeProcess, type ProcessOptions } from './serve-process.ts'

interface ChildOptions extends Pick<ProcessOptions, 'single' | 'log'> {
  open(loaded: LoadedConfig): App
}

/** Runs one of the processes that `supervise` started, until that one says so or has gone. */
export async function serveAsChild(app: App, parent: Parent, options: ChildOptions): Promise<void> {
  const { log } = options
  try {
    const { serves, works, host, port, place } = parent.task
    const running = await ServeProcess.start(app, {
      ...{ serves, works, host, port, place, log, single: options.single, gather: () => parent.gather() },
      ...{ inlet: parent.inlet, shared: parent.shared },
      reopen: () => Promise.resolve(options.open(parent.takeConfig())),
    })
    parent.on((message) => {
      if (message.kind === 'reload') void running.reload()
      if (message.kind === 'measure') void tellMetrics(parent, running, message.id)
    })
    // It was given while we started, with the one before: nobody is served with that.
    if (parent.hasNewConfig) await running.reload()
    parent.send({ kind: 'ready' })
    await parent.stopped
    await running.stop()
  } catch (error) {
    process.exitCode = error instanceof PagecacheError ? error.exit : 1
    // Into the log, as everything that a daemon says: nobody else would.
    if (error instanceof PagecacheError)
      parent.send({ kind: 'failed', code: error.code, message: error.message, hint: error.hint })
    else log.error('a process of the daemon failed', error)
  } finally {
    parent.leave()
  }
}

async function tellMetrics(parent: Parent, running: ServeProcess, id: number): Promise<void> {
  parent.send({ kind: 'values', id, values: await running.metricValues() })
}
