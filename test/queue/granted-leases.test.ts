import { expect, it } from 'vitest'
import { GrantedLeases } from '../../src/queue/granted-leases.ts'
import type { RecordsTransaction } from '../../src/records/schema.ts'

const held = { id: 'message', lease: 'lease' }

/** A claim that is committed although its answer is lost. */
async function claimWithoutAnswer(leases: GrantedLeases): Promise<void> {
  const claim = leases.grant(
    async (work) => {
      await work(null as unknown as RecordsTransaction)
      throw new Error('lost')
    },
    async () => [held],
  )
  await expect(claim).rejects.toThrow('lost')
}

it('a claim whose answer is lost while a heartbeat reads the leases stays doubtful', async () => {
  const leases = new GrantedLeases()
  await leases.giveBackUnknown(
    async () => {
      await claimWithoutAnswer(leases)
      return []
    },
    async () => {},
  )
  expect(leases.isDoubtful).toBe(true)
})

it('leases stay doubtful until they could be given back', async () => {
  const leases = new GrantedLeases()
  await claimWithoutAnswer(leases)
  const failing = leases.giveBackUnknown(
    async () => [held],
    () => Promise.reject(new Error('failed')),
  )
  await expect(failing).rejects.toThrow('failed')
  expect(leases.isDoubtful).toBe(true)
  await leases.giveBackUnknown(
    async () => [held],
    async () => {},
  )
  expect(leases.isDoubtful).toBe(false)
})
