import type { App } from '../app.ts'
import type { LoadedConfig } from '../config/load.ts'
import { PagecacheError } from '../errors.ts'
import type { Parent } from './parent.ts'
import { ServeProcess, type ProcessOptions } from './serve-process.ts'

interface ChildOptions extends Pick<ProcessOptions, 'log'> {
  open(loaded: LoadedConfig): App
}

/** Runs one of the processes that `supervise` started, until its parent stops it. */
export async function serveAsChild(app: App, parent: Parent, options: ChildOptions): Promise<void> {
  const { log } = options
  try {
    const { serves, works, host, port, address, proxyProtocol } = parent.task
    const running = await ServeProcess.start(app, {
      serves,
      works,
      host,
      port,
      address,
      proxyProtocol,
      log,
      gather: () => parent.gather(),
      receiver: parent.receiver,
      shared: parent.shared,
      reopen: () => Promise.resolve(options.open(parent.takeConfig())),
    })
    parent.on((message) => {
      if (message.kind === 'reload') void reload(parent, running)
      if (message.kind === 'measure') void sendMetrics(parent, running, message.id)
    })
    // A reload arrived during the start: do not serve anyone with the old configuration.
    if (parent.hasNewConfig) await running.reload()
    parent.send({ kind: 'ready' })
    await parent.stopped
    await running.stop()
  } catch (error) {
    process.exitCode = error instanceof PagecacheError ? error.exit : 1
    // The parent reports an expected error; any other is only logged here.
    if (error instanceof PagecacheError)
      parent.send({ kind: 'failed', code: error.code, message: error.message, hint: error.hint })
    else log.error('Daemon process failed', error)
  } finally {
    parent.disconnect()
  }
}

async function reload(parent: Parent, running: ServeProcess): Promise<void> {
  const { error } = await running.reload()
  parent.send({ kind: 'reloaded', error })
}

async function sendMetrics(parent: Parent, running: ServeProcess, id: number): Promise<void> {
  parent.send({ kind: 'values', id, values: await running.metricValues() })
}
