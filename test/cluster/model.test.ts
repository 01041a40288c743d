import { describe, expect, it } from 'vitest'
import type { Ledger, MemberWrite } from '../../src/cluster/ledger.ts'
import { busySettingsOf, failoverSettingsOf, run, search, settingsOf } from './search.ts'
import type { Mutation } from './settings.ts'

/** Runs of the model; `npm run model` sets more. */
const runs = Number(process.env['PAGECACHE_MODEL_RUNS'] ?? 240)
const from = Number(process.env['PAGECACHE_MODEL_FROM'] ?? 1)

/** In this many runs without the given rule, a visitor gets a stale page. */
const soon = 200

/** Nodes go on although another server has taken over. */
function regardlessOfServer(ledger: Ledger): Ledger {
  let server = ''
  const here = <Write extends MemberWrite>(write: Write) => ({ ...write, identity: server, confirmed: 0 })
  return {
    ...ledger,
    read: async (after) => {
      const found = await ledger.read(after)
      server = found.identity
      return { ...found, identity: 'any' }
    },
    join: (member) => ledger.join(here(member)),
    renew: (write) => ledger.renew(here(write)),
    admit: (write) => ledger.admit(here(write)),
  }
}

describe('the protocol of leases', () => {
  it('lets no visitor get a page from before an answered purge, whatever freezes, crashes or is cut off', async () => {
    const calm = await search({ from, runs })
    const busy = await search({ from, runs: Math.ceil(runs / 30) }, undefined, busySettingsOf)
    const failover = await search({ from, runs: Math.ceil(runs / 20) }, undefined, failoverSettingsOf)
    expect([calm.found, busy.found, failover.found]).toEqual([null, null, null])
    expect(calm.runs).toBe(runs)
    // The search is worth something only where pages are served and purges answered, also without a lease.
    expect(calm.hits).toBeGreaterThan(100 * runs)
    expect(calm.answered).toBeGreaterThan(5 * runs)
    expect(calm.unconfirmed).toBeGreaterThan(runs)
  })

  it('holds for 100 nodes and 1,000 purges a second', async () => {
    const crowd = { nodes: 100, pages: 500, duration: 1500, purges: 10, visits: 40, alone: 0, loss: 0, delay: 2 }
    for (let seed = from; seed < from + Math.ceil(runs / 2000); seed += 1) {
      const { stale, answered, hits, waits } = await run({
        ...crowd,
        seed,
        faults: [
          { kind: 'crash', node: 7, at: 400, for: 5000 },
          { kind: 'freeze', node: 8, at: 500, for: 1500 },
        ],
      })
      expect(stale).toBeNull()
      expect(answered).toBeGreaterThan(200)
      expect(hits).toBeGreaterThan(20)
      // Purges wait for the lease of a silent node once, not each of them.
      expect(waits.toSorted((a, b) => a - b)[Math.floor(waits.length / 2)]).toBeLessThan(1100)
    }
  })
})

describe('the model finds a stale page at once', () => {
  /** The last element is the first seed, given where few runs break the rule: the seeds before it find nothing. */
  const mutations: [string, Mutation, typeof settingsOf, number?][] = [
    ['where purges wait for half of the lease', { believed: 0.5 }, settingsOf],
    ['where purges allow for no difference between clocks', { believed: 1 / 1.1 }, busySettingsOf, 110],
    ['where a lease counts from the answer of the database', { lateLease: true }, busySettingsOf],
    ['where a sequence numbers the purges', { sequence: true }, settingsOf],
    [
      'where a suspect node serves without being admitted',
      {
        ledger: (ledger) => ({
          ...ledger,
          renew: async (write) => (await ledger.renew(write)).replace('suspect', 'renewed') as 'renewed' | 'lost',
        }),
      },
      busySettingsOf,
      10,
    ],
    [
      'where an admitted node serves before it has applied the purges that did not wait for it',
      {
        ledger: (ledger) => ({
          ...ledger,
          admit: async (write) => {
            const answer = await ledger.admit(write)
            return answer === 'lost' ? answer : { barrier: 0 }
          },
        }),
      },
      busySettingsOf,
      20,
    ],
    ['where a machine does not notice that it slept', { clocks: ({ mono }) => ({ mono, wall: mono }) }, settingsOf],
    [
      'where purges do not wait for leases that a lost server has granted',
      { members: (read) => ({ ...read, isSettled: true }) },
      failoverSettingsOf,
    ],
    ['where nodes ignore that another server has taken over', { ledger: regardlessOfServer }, failoverSettingsOf],
  ]

  it.each(mutations)('%s', async (_, mutation, toSettings, first = 1) => {
    const { found } = await search({ from: first, runs: soon }, mutation, toSettings)
    expect(String(found?.stale)).toContain('served page-')
  })
})
