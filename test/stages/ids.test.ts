import { expect, it, onTestFinished } from 'vitest'
import { eraseCustomer } from '../../src/stages/erase-customer.ts'
import { migrations } from '../../src/records/migrations/list.ts'
import type { StageRow } from '../../src/records/stage-rows.ts'
import { saveChannels } from '../../src/stages/sales-channels.ts'
import { defaultLook, defaultTrigger } from '../../src/stages/look.ts'
import { toColumns } from '../../src/stages/stage.ts'
import { createStage, listStages, readStage } from '../../src/stages/stages.ts'
import { openRecords } from '../helpers/records.ts'
import { tempDir } from '../helpers/temp-dir.ts'
import { settings, startStorefront } from './storefront.ts'

const customer = '0190c0de-0000-7000-8000-0000000000cc'
const plain = customer.replaceAll('-', '')

it('all spellings of a customer id are one customer, erased by any of them', async () => {
  const shop = await startStorefront({ customerHeader: 'x-customer' }, { trustedProxies: ['127.0.0.1'] })
  const stage = await shop.stage()
  for (const id of [customer, plain, plain.toUpperCase(), '10042'])
    await shop.track({ popupId: stage.id, eventType: 'close' }, { 'x-customer': id })
  const customers = async () => (await shop.events()).map((event) => event.customer_id).toSorted()
  expect(await customers()).toEqual([customer, customer, customer, '10042'])
  // As older versions stored it.
  const [first] = await shop.events()
  await shop.records.db
    .insertInto('vendor_stage_event')
    .values({ ...first!, id: 'old', customer_id: plain })
    .execute()
  expect(await eraseCustomer(shop.records, plain.toUpperCase(), 'anonymize')).toMatchObject({ events: 4 })
  expect(await customers()).toEqual(['10042', null, null, null, null])
})

it('a stage of a channel whose id was stored without dashes belongs to the same channel after the migration', async () => {
  const directory = await tempDir()
  const channelId = plain.toUpperCase()
  const before = await openRecords({
    directory,
    now: Date.now,
    migrations: migrations.filter(({ name }) => name < '0009'),
  })
  const id = '0190c0de-0000-7000-8000-0000000000aa'
  await saveChannels(before.db, [{ id: channelId, name: 'Storefront', url: 'http://shop.example' }])
  // The columns of that version.
  const later = ['starts_at', 'ends_at', 'look', 'opens']
  const columns = Object.entries(toColumns({ ...settings, salesChannelId: channelId })).filter(
    ([name]) => !later.includes(name),
  )
  const row = { id, ...Object.fromEntries(columns), created_at: 1, updated_at: 1, deleted: null }
  await before.db
    .insertInto('vendor_stage')
    .values(row as StageRow)
    .execute()
  await before.close()
  const after = await openRecords({ directory, now: Date.now })
  onTestFinished(() => after.close())
  expect(await readStage(after, id)).toMatchObject({
    salesChannelId: customer,
    from: null,
    until: null,
    look: defaultLook,
    trigger: defaultTrigger,
  })
})

it('stages of one millisecond are listed in the order of their creation', async () => {
  const records = await openRecords({ directory: await tempDir(), now: () => 1 })
  onTestFinished(() => records.close())
  const names = Array.from({ length: 20 }, (_, number) => `stage ${number}`)
  for (const name of names) await createStage(records, [], { ...settings, name })
  const { items } = await listStages(records, { limit: 20, offset: 0 })
  expect(items.map(({ name }) => name)).toEqual(names)
})
