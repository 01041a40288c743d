import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { describe, expect, it, onTestFinished } from 'vitest'
import type { Records } from '../../src/records/open.ts'
import type { TrackedEvent } from '../../src/stages/batch.ts'
import { erasureModes, eraseCustomer } from '../../src/stages/erase-customer.ts'
import { pruneEvents } from '../../src/stages/prune.ts'
import { createStage } from '../../src/stages/stages.ts'
import { channels, day, noon, openStages } from './plain-count.ts'
import { settings } from './storefront.ts'

/** Records as in a daemon: one connection here, one in the tracker's thread, and events of one stage. */
async function openEvents(now: () => number = () => noon) {
  const { event, ...opened } = await openStages(now)
  const stage = await createStage(opened.records, channels, settings)
  return {
    ...opened,
    event: (customerId: string | null, at: number, more: Partial<TrackedEvent> = {}) =>
      event(stage.id, at, { type: 'close', customerId, ...more }),
  }
}

/** All bytes of the directory: the database, its write-ahead log, and any other files. */
function bytesOf(directory: string): string {
  const files = readdirSync(directory, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile())
  return files.map((entry) => readFileSync(join(entry.parentPath, entry.name)).toString('latin1')).join('\n')
}

const customer = (number: number) => `customer-${String(number).padStart(4, '0')}`

async function trackMany({ tracker, event }: Awaited<ReturnType<typeof openEvents>>) {
  for (let round = 0; round < 60; round += 1) {
    await Promise.all(
      Array.from({ length: 300 }, (_, index) =>
        tracker.track(event(customer((index * 7 + round) % 300), noon - day + ((round * 300 + index) % 977))),
      ),
    )
  }
}

describe('an erased customer', () => {
  it.each(erasureModes)(
    'leaves no byte in the files (%s), however the rows have moved between database pages',
    async (mode) => {
      const opened = await openEvents()
      await trackMany(opened)
      for (const number of [0, 7, 150, 299]) {
        expect(bytesOf(opened.directory)).toContain(customer(number))
        expect(await eraseCustomer(opened.records, customer(number), mode)).toEqual({ events: 60, logEmptied: true })
        expect(bytesOf(opened.directory)).not.toContain(customer(number))
      }
      expect(bytesOf(opened.directory)).toContain(customer(1))
      expect(await opened.records.check()).toEqual([])
    },
  )

  it('is gone from the file while a reader keeps the log in use, which is reported', async () => {
    const { directory, records, tracker, event } = await openEvents()
    await tracker.track(event('customer-x', noon))
    const reader = new Database(join(directory, 'records.sqlite'), { readonly: true })
    onTestFinished(() => void reader.close())
    reader.exec('BEGIN')
    reader.prepare('SELECT count(*) FROM vendor_stage_event').get()
    expect(await eraseCustomer(records, 'customer-x', 'remove')).toEqual({ events: 1, logEmptied: false })
    reader.exec('COMMIT')
    expect(await eraseCustomer(records, 'customer-x', 'remove')).toEqual({ events: 0, logEmptied: true })
    expect(bytesOf(directory)).not.toContain('customer-x')
  })
})

describe('expired data', () => {
  it('leaves no byte in the files: events past their retention, expired sessions', async () => {
    let now = noon
    const { directory, records, tracker, event } = await openEvents(() => now)
    const digest = 'DigestOfOneSession0000'
    await tracker.track(
      event('customer-old', noon, { type: 'impression', session: digest, pageType: 'page-type-canary' }),
    )
    expect(bytesOf(directory)).toContain(digest)
    now = noon + 2 * day
    expect(await pruned(records, now)).toBe(1)
    expect(bytesOf(directory)).not.toContain(digest)
    now = noon + 91 * day
    expect(await pruned(records, now)).toBe(1)
    expect(bytesOf(directory)).not.toMatch(/customer-old|page-type-canary/)
  })
})

async function pruned(records: Records, before: number): Promise<number> {
  const rows = await pruneEvents(records, { before, limit: 1000 })
  expect(await records.truncateLog()).toBe(true)
  return rows
}
