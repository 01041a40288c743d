import { readFile, writeFile } from 'node:fs/promises'
import { startDaemon, type Daemon, type DaemonOptions } from '../../helpers/daemon.ts'
import { exchange, type Answer, type ExchangeOptions } from '../../helpers/exchange.ts'
import { startOrigin, type Origin } from '../../helpers/origin.ts'

/** A scripted shop behind a real daemon. */
export interface Shop {
  origin: Origin
  daemon: Daemon
  port: number
  /** The Host of the daemon's one channel. */
  host: string
  ask(path: string, options?: ExchangeOptions): Promise<Answer>
  /** How many pages the cache holds, as another process sees it. */
  pages(): Promise<number>
  close(): Promise<void>
}

/** A page for everybody with these tags. */
export function tagged(names: string) {
  return {
    headers: { 'content-type': 'text/html', 'cache-control': 'public, s-maxage=3600', xkey: names },
    body: `page with ${names}`,
  }
}

/** What the shop answers where a test says nothing else: a page for a minute, that names its path. */
export const page = (text: string, headers: Record<string, string> = {}) => ({
  headers: { 'content-type': 'text/html; charset=utf-8', 'cache-control': 'public, max-age=60', ...headers },
  body: `<!doctype html><title>page</title><p>${text}`,
})

export async function openShop(options: DaemonOptions = {}): Promise<Shop> {
  const origin = await startOrigin({ otherwise: (request) => page(`page of ${request.path}`) })
  const daemon = await startDaemon({ args: ['--origin', origin.url], ...options }).catch(async (error: unknown) => {
    await origin.stop()
    throw error
  })
  return {
    origin,
    daemon,
    port: daemon.port,
    host: daemon.host,
    ask: (path, how) => exchange(`${daemon.url}${path}`, how),
    pages: async () => {
      const { stdout } = await daemon.run('cache:stats', '--json')
      return (JSON.parse(stdout) as { totalFiles: number }).totalFiles
    },
    close: async () => {
      await daemon.stop()
      await origin.stop()
    },
  }
}

/** Resident memory of a process, in bytes. */
export const residentMemory = (pid: number) => memoryOf(pid, 'VmRSS')

/** Returns a function that reads how far the resident memory of a process has risen above its present size at most, in bytes. */
export async function watchMemory(pid: number): Promise<() => Promise<number>> {
  // Resets the peak that the kernel keeps (proc(5)).
  await writeFile(`/proc/${pid}/clear_refs`, '5')
  const before = await residentMemory(pid)
  return async () => (await memoryOf(pid, 'VmHWM')) - before
}

async function memoryOf(pid: number, field: 'VmRSS' | 'VmHWM'): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8')
  return Number(new RegExp(`^${field}:\\s+(\\d+) kB`, 'm').exec(status)![1]) * 1024
}
