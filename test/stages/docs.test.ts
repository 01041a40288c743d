import { readFileSync } from 'node:fs'
import { sql } from 'kysely'
import { expect, it } from 'vitest'
import { shareStorefronts } from './storefront.ts'

const openStorefront = shareStorefronts()

const text = readFileSync(new URL('../../docs/stages.md', import.meta.url), 'utf8')

/** The first column of the table after a sentence. */
function columnsAfter(sentence: string): string[] {
  const table = text.slice(text.indexOf(sentence)).split('\n\n')[1]!
  return [...table.matchAll(/^\| `(\w+)` \|/gm)].map((match) => match[1]!)
}

it.each([
  ['vendor_stage_event', 'What is stored for one event, and nothing else:'],
  ['vendor_stage_session', 'pagecache counts how often a session saw a stage:'],
])('the privacy statement names every column of %s', async (table, sentence) => {
  const shop = await openStorefront()
  const { rows } = await sql<{ name: string }>`select name from pragma_table_info(${table})`.execute(shop.records.db)
  expect(columnsAfter(sentence)).toEqual(rows.map(({ name }) => name))
})
