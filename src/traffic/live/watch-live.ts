import { readdirSync, rmSync, statSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Seen } from '../traffic.ts'
import type { LiveFilter } from './seen.ts'
import { linesOf, liveDirectory, socketAddress } from './socket.ts'

/** Milliseconds between two searches for processes that have started. */
const searchInterval = 1000
/** Age in milliseconds from which a socket that refuses connections belongs to a process that was killed. */
const leftOverAfter = 10_000
/** How long a process has to answer (milliseconds): one that is frozen must not hold back the others. */
const answerWithin = 2000
/** Characters of one message; a full window has far less. */
const longestMessage = 1024 * 1024

/** Requests that ended since the last message of a process, and how many were left out. */
interface SeenRequests {
  requests: Seen[]
  notShown: number
}

export interface WatchLiveOptions {
  dataDir: string
  filter: LiveFilter
  signal: AbortSignal
  /** Called with the number of processes whose requests are shown: at first, and whenever it changes. */
  onProcesses(processes: number): void | Promise<void>
  /** A promise holds back further messages until it has settled; meanwhile the processes sample. */
  onRequests(seen: SeenRequests): void | Promise<void>
}

/** Shows the requests of all daemon processes of this state directory as they end, until the signal is aborted. */
export async function watchLive({ dataDir, filter, signal, ...to }: WatchLiveOptions): Promise<void> {
  const directory = liveDirectory(dataDir)
  const open = new Map<string, Socket>()
  let told = -1
  try {
    while (!signal.aborted) {
      const fresh = namesIn(directory).filter((name) => !open.has(name))
      await Promise.all(
        fresh.map(async (name) => {
          const socket = await connectTo(join(directory, name), filter, signal)
          if (socket === null) return
          if (signal.aborted) return void socket.destroy()
          open.set(name, socket)
          void forward(socket, to.onRequests).finally(() => open.delete(name))
        }),
      )
      if (open.size !== told) await to.onProcesses((told = open.size))
      await sleep(searchInterval, undefined, { signal }).catch(() => {})
    }
  } finally {
    for (const socket of open.values()) socket.destroy()
  }
}

function namesIn(directory: string): string[] {
  try {
    return readdirSync(directory).filter((name) => name.endsWith('.sock'))
  } catch {
    return []
  }
}

/** Connects to a process; null where it has ended, does not answer or has too many watchers. */
async function connectTo(path: string, filter: LiveFilter, signal: AbortSignal): Promise<Socket | null> {
  const socket = connect(socketAddress(path))
  const leave = () => void socket.destroy()
  signal.addEventListener('abort', leave)
  socket.setTimeout(answerWithin, leave)
  try {
    await new Promise<void>((resolve, reject) => {
      socket.once('error', reject)
      socket.once('close', () => reject(new Error('closed')))
      socket.once('connect', () => socket.write(`${JSON.stringify(filter)}\n`))
      // The process answers with an empty line: requests that end from now on are shown.
      socket.once('readable', resolve)
    })
  } catch (error) {
    socket.destroy()
    if ((error as NodeJS.ErrnoException).code === 'ECONNREFUSED') removeLeftOver(path)
    return null
  } finally {
    signal.removeEventListener('abort', leave)
  }
  socket.removeAllListeners().setTimeout(0)
  return socket
}

function removeLeftOver(path: string): void {
  const { mtimeMs } = statSync(path, { throwIfNoEntry: false }) ?? { mtimeMs: Date.now() }
  if (Date.now() - mtimeMs > leftOverAfter) rmSync(path, { force: true })
}

async function forward(socket: Socket, onRequests: WatchLiveOptions['onRequests']): Promise<void> {
  try {
    for await (const line of linesOf(socket, longestMessage))
      if (line !== '') await onRequests(JSON.parse(line) as SeenRequests)
  } catch {
    // The process has ended or cut the connection; it is searched for again.
  } finally {
    socket.destroy()
  }
}
