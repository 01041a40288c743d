/**
 * Entry point of the thread that writes events and looks up stages. It has its own database connection, so that waiting for a disk
 * sync or another process's lock never delays page requests.
 */
import { parentPort, workerData } from 'node:worker_threads'
import { toMessage, type ErrorMessage } from '../errors.ts'
import { steadyClock } from '../lib/clock.ts'
import { openRecords, type Records } from '../records/open.ts'
import { forThread, type RecordsPlace } from '../records/records.ts'
import { findActive, findPreviewed } from './active.ts'
import type { Batch, BatchResult } from './batch.ts'
import { saveChannels, type SalesChannel } from './sales-channels.ts'
import { prepareWriter, type EventWriter } from './write-events.ts'

const { place, channels } = workerData as { place: RecordsPlace; channels: SalesChannel[] }
const port = parentPort!
const now = steadyClock()
let opened: { records: Records; write: EventWriter } | null = null

port.on('message', (batch: Batch | null) => {
  if (batch === null) void end()
  else void processBatch(batch).then((message) => port.postMessage(message))
})

async function processBatch({ events, queries }: Batch): Promise<BatchResult | { error: ErrorMessage }> {
  try {
    const { records, write } = (opened ??= await open())
    const outcomes = events.length === 0 ? [] : await write(events)
    const active = []
    for (const query of queries)
      active.push(
        await ('preview' in query
          ? findPreviewed(records.db, query)
          : findActive(records.db, now(), Date.now(), query)),
      )
    return { outcomes, active }
  } catch (error) {
    return { error: toMessage(error) }
  }
}

async function open() {
  const records = await openRecords({ ...forThread(place, 1), now })
  await saveChannels(records.db, channels)
  return { records, write: prepareWriter(records.db) }
}

async function end(): Promise<void> {
  await opened?.records.close()
  port.close()
}
