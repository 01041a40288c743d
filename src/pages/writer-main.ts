/**
 * The program of the writer thread of a serving process: stores the pages that visitors' misses have fetched. It has its own database
 * connection; to the page store it is just another process.
 */
import { parentPort, workerData } from 'node:worker_threads'
import { toMessage } from '../errors.ts'
import { letVisitorsIn, yieldToVisitors } from '../lib/priority.ts'
import { openFilesystemStore } from './filesystem-store.ts'
import type { PageStore, PreparedPage } from './page-store.ts'
import {
  toGroup,
  type FromWriter,
  type GroupWritten,
  type ToWriter,
  type WriterAnswer,
  type WriterData,
  type WriterTask,
} from './writer-messages.ts'

yieldToVisitors()
const port = parentPort!
let moment = Date.now()
// The store of the serving thread reports the warnings of both.
const pages = await openFilesystemStore({ ...(workerData as WriterData), now: () => moment, onWarning: () => {} })

async function perform(task: WriterTask): Promise<WriterAnswer> {
  switch (task.kind) {
    case 'pages':
      return writeGroup(pages, toGroup(task))
    case 'freshen':
      return pages.freshen(task.page, task.draft, task.fence)
    case 'hits':
      pages.recordHits(task.hits)
      return null
    case 'recode':
      return pages.recode(task.page)
  }
}

async function writeGroup(store: PageStore, group: readonly PreparedPage[]): Promise<GroupWritten> {
  const before = store.unstored()
  const outcomes = await store.writePrepared(group)
  const stored = outcomes.map((outcome) => (typeof outcome === 'string' ? outcome : outcome.id))
  return { stored, failed: store.unstored() - before }
}

async function answer(task: WriterTask): Promise<void> {
  try {
    port.postMessage({ kind: 'answer', value: await perform(task) } satisfies FromWriter)
  } catch (error) {
    port.postMessage({ kind: 'error', error: toMessage(error) } satisfies FromWriter)
  }
}

port.on('message', (message: ToWriter) => {
  if (message === null) return void pages.close().then(() => port.close())
  // Linux may have taken the core from the serving thread when that sent the message, of whatever kind it is.
  letVisitorsIn()
  moment = message.now
  void answer(message.task)
})
port.postMessage({ kind: 'opened' } satisfies FromWriter)
