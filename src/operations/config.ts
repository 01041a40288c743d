import { setTimeout as pause } from 'node:timers/promises'
import * as z from 'zod/mini'
import { describeConfig } from '../config/describe.ts'
import { withErrorPage } from '../config/error-page.ts'
import { loadConfig } from '../config/load.ts'
import { compareWithDaemon, findDaemon, withDaemonsFlags, type RunningDaemon } from '../config/running-daemon.ts'
import { PagecacheError } from '../errors.ts'
import { success, succeeded, text } from './fields.ts'
import { defineOperation } from './operation.ts'

export const showConfig = defineOperation({
  name: 'config.show',
  summary: 'Shows the effective configuration and the source of each value',
  input: z.object({}),
  output: z.object({
    success,
    environment: z.string(),
    projectDir: z.string(),
    cacheDir: z.string(),
    dataDir: z.string(),
    file: z.nullable(z.string()),
    values: z.array(z.object({ key: z.string(), value: z.unknown(), source: z.string() })),
  }),
  http: { method: 'GET', path: '/config' },
  async run({ app }) {
    const { environment, places, file } = app.loaded
    const { projectDir, cacheDir, dataDir } = places
    return { ...succeeded, environment, projectDir, cacheDir, dataDir, file, values: describeConfig(app.loaded) }
  },
})

export const findConfig = defineOperation({
  name: 'config.path',
  summary: 'Names the configuration file',
  input: z.object({}),
  output: z.object({ success, file: z.string(), exists: z.boolean() }),
  http: { method: 'GET', path: '/config/path' },
  async run({ app }) {
    return { ...succeeded, file: app.loaded.places.configFile, exists: app.loaded.file !== null }
  },
})

const channel = z.object({ id: z.string(), name: z.string(), url: z.string() })

export const validateConfig = defineOperation({
  name: 'config.validate',
  summary: 'Checks a configuration file without using it',
  input: z.object({ file: text('expected the path of a file') }),
  output: z.object({ success, file: z.string(), channels: z.array(channel) }),
  /** @throws CONFIG_INVALID listing every error */
  async run({ app }, { file }) {
    const { environment, places } = app.loaded
    const loaded = await loadConfig({ env: environment, projectDir: places.projectDir, config: file })
    const { config, places: found } = await withErrorPage(loaded)
    const channels = config.salesChannels.map(({ id, name, url }) => ({ id, name, url }))
    return { ...succeeded, file: found.configFile, channels }
  },
})

/** Milliseconds to wait for the daemon, and between two looks at it. */
const reloadTimeout = 60_000
const reloadInterval = 50

export const reloadConfig = defineOperation({
  name: 'config.reload',
  summary: 'Has the running daemon read its configuration file again',
  input: z.object({}),
  output: z.object({
    success,
    file: z.nullable(z.string()),
    channels: z.array(channel),
    warning: z.optional(z.string()),
  }),
  http: { method: 'POST', path: '/config/reload' },
  /** @throws NOT_FOUND without a running daemon; CONFIG_INVALID where it keeps its previous configuration */
  async run({ app, signal }) {
    const { environment, places } = app.loaded
    const before = findDaemon(places.dataDir)
    if (before === null)
      throw new PagecacheError('NOT_FOUND', `No daemon is running for ${places.projectDir} (${environment}).`, {
        hint: 'Start one with: pagecache serve',
      })
    signalReload(before.process.pid)
    const daemon = await nextLoad(before, places.dataDir, signal)
    if (daemon.reloadError !== null)
      throw new PagecacheError('CONFIG_INVALID', daemon.reloadError, {
        hint: 'The daemon keeps its previous configuration.',
      })
    const config = daemon.configFile === null ? {} : { config: daemon.configFile }
    const loaded = await loadConfig({ env: environment, projectDir: places.projectDir, ...config })
    const mismatch = compareWithDaemon(withDaemonsFlags(loaded, daemon), daemon)
    const warning = mismatch === null ? {} : { warning: `${mismatch.message} ${mismatch.remedy}` }
    return { ...succeeded, file: daemon.configFile, channels: daemon.channels, ...warning }
  },
})

/** Waits until the daemon has tried to read its configuration again. @throws CHECK_FAILED where it has ended or takes too long */
async function nextLoad(before: RunningDaemon, dataDir: string, signal: AbortSignal): Promise<RunningDaemon> {
  const { pid } = before.process
  const deadline = performance.now() + reloadTimeout
  for (;;) {
    const daemon = findDaemon(dataDir)
    if (daemon?.process.pid !== pid) throw new PagecacheError('CHECK_FAILED', `The daemon (process ${pid}) has ended.`)
    if (daemon.loads > before.loads) return daemon
    if (performance.now() > deadline)
      throw new PagecacheError('CHECK_FAILED', `The daemon (process ${pid}) has not read its configuration in time.`)
    await pause(reloadInterval, null, { signal })
  }
}

/** @throws FORBIDDEN where the daemon runs as another user */
function signalReload(pid: number): void {
  try {
    process.kill(pid, 'SIGHUP')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EPERM') throw error
    throw new PagecacheError('FORBIDDEN', `Process ${pid} belongs to another user.`, {
      hint: 'Run this command as the user of the daemon, or over HTTP with --server.',
    })
  }
}
