/**
 * The program of the purge thread of a serving process. It has its own database connections, so that visitors do not wait while it waits
 * for the disk or for another process's lock. To the page store it is just another process.
 */
import { parentPort, threadId, workerData } from 'node:worker_threads'
import { openPurgeCluster } from '../cluster/purge-cluster.ts'
import { runNode } from '../cluster/run-node.ts'
import { toMessage } from '../errors.ts'
import { steadyClock } from '../lib/clock.ts'
import { clearApplicationCache, openFilesystemStore } from '../pages/filesystem-store.ts'
import type { PageStore } from '../pages/page-store.ts'
import { Gate } from '../lib/gate.ts'
import { yieldToVisitors } from '../lib/priority.ts'
import { thisProcess } from '../lib/process-identity.ts'
import type { ConsumeEvent } from '../queue/consume-event.ts'
import { openQueue } from '../queue/records-queue.ts'
import { openRecords, type Records } from '../records/open.ts'
import { forThread } from '../records/records.ts'
import { ThreadDeliveries } from './deliver/thread-deliveries.ts'
import type { Invalidated } from './invalidation.ts'
import type { FromThread, PurgerData, PurgerTask, ToThread } from './purger-messages.ts'
import { oldestUnfinished } from './oldest-unfinished.ts'
import { toMatcher } from './pattern.ts'
import { openPurging } from './purging.ts'
import { RemovalGroups } from './removal-groups.ts'
import { removeChanged } from './remove-changed.ts'

const {
  records: place,
  cacheDir,
  maxSize,
  maxVariants,
  proxies,
  followUp,
  budget,
  endedThreads,
  node = null,
} = workerData as PurgerData
const port = parentPort!
/** Milliseconds that SQLite blocks for a lock. The thread has nothing else to do, and so gets the lock as soon as it is free. */
const lockTimeout = 50
/** The thread purges, delivers and works on the queue. */
const maxConnections = 4
let answers: FromThread['answers'] = []
/** The open parts, the last one first. */
const parts: { close(): Promise<void> }[] = []

yieldToVisitors()
await main()

async function main(): Promise<void> {
  try {
    const perform = await open()
    port.on('message', (messages: ToThread) => {
      if (messages !== null) for (const { id, task } of messages) void answer(id, () => perform(id, task))
      else void close()
    })
    port.postMessage({ opened: true, answers: [] } satisfies FromThread)
  } catch (error) {
    port.postMessage({ opened: toMessage(error), answers: [] } satisfies FromThread)
    // The next attempt is made by another thread, and may need the connections of this one.
    await close()
  }
}

/** Opens the parts of the thread. Returns the function that performs a task with them; `id` is the number of its message. */
async function open(): Promise<(id: number, task: PurgerTask) => Promise<Invalidated | number>> {
  const now = steadyClock()
  const records = opened(await openRecords({ ...forThread(place, maxConnections), now, lockTimeout }))
  // The store of the serving thread reports the warnings of both.
  const options = { directory: cacheDir, maxSize, maxVariants, now, onWarning: () => {} }
  const pages = opened(await openFilesystemStore(options))
  const queue = await openQueue(records, Date.now)
  const clearDirectory = (trace: number | null) => clearApplicationCache(cacheDir, trace)
  const owner = { ...thisProcess(), thread: threadId }
  const removals = new RemovalGroups(pages)
  const numbering = new Gate(1)
  const cluster = node && openPurgeCluster(records.db, cacheDir, node)
  const purging = opened(
    await openPurging({
      records,
      pages,
      queue,
      now: Date.now,
      owner,
      endedThreads,
      proxies,
      followUp,
      budget,
      clearDirectory,
      cluster,
    }),
  )
  if (cluster) opened(await openMember(records, pages))
  const deliveries = new ThreadDeliveries({ db: records.db, pages, cluster, queue, onEvent: report, onJoined })
  return async (id, task) => {
    if (task.kind === 'invalidate') return purging.invalidate(task.invalidation)
    if (task.kind === 'remove') return removeChanged({ cluster, numbering }, task.removal, removals)
    if (task.kind === 'catchUp') return purging.catchUp()
    if (task.kind === 'deliver') return deliveries.run(id, task.setup)
    if (task.kind === 'stopDelivering') deliveries.stop(task.delivery)
    else pages.cleanUp()
    return 0
  }
}

function opened<T extends { close(): Promise<void> }>(part: T): T {
  parts.unshift(part)
  return part
}

async function close(): Promise<void> {
  for (const part of parts) await part.close().catch(() => {})
  port.close()
}

/** Keeps this process in step with the other nodes. Purges that use all connections must not cost it its lease. */
async function openMember(records: Pick<Records, 'db' | 'onPurge' | 'now'>, pages: PageStore) {
  const own = await openRecords({ ...forThread(place, 1), now: records.now })
  const cluster = openPurgeCluster(own.db, cacheDir, node!)
  const { db, onPurge } = records
  const running = await runNode({ db, onPurge, leases: own.db }, node!, {
    pages,
    directory: cacheDir,
    toMatcher,
    oldestUnfinished: () => oldestUnfinished(own.db, cluster),
  })
  return {
    async close() {
      await running.stop()
      await own.close()
    },
  }
}

async function answer(id: number, perform: () => Promise<Invalidated | number>): Promise<void> {
  try {
    post({ id, value: await perform() })
  } catch (error) {
    post({ id, error: toMessage(error) })
  }
}

function report(id: number, event: ConsumeEvent): void {
  port.postMessage({ opened: true, answers: [], events: [{ id, event }] } satisfies FromThread)
}

function onJoined(id: number): void {
  port.postMessage({ opened: true, answers: [], joined: id } satisfies FromThread)
}

/** Posts the answers of one turn of the event loop as one message. */
function post(message: FromThread['answers'][number]): void {
  if (answers.push(message) > 1) return
  setImmediate(() => {
    port.postMessage({ opened: true, answers } satisfies FromThread)
    answers = []
  })
}
