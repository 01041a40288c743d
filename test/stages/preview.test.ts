import { describe, expect, it } from 'vitest'
import { openPreviews } from '../../src/auth/previews.ts'
import { createClient, revokeClient } from '../../src/auth/clients.ts'
import { signToken, verifyToken } from '../../src/auth/tokens.ts'
import { exchange } from '../helpers/exchange.ts'
import { jsonOf, shareStorefronts, type Storefront } from './storefront.ts'

const openStorefront = shareStorefronts()

async function tokenOf({ app }: Storefront, stageId: string, clientId: string | null = null): Promise<string> {
  return (await (await openPreviews(app)).sign(stageId, clientId)).token
}

function ask({ url }: Storefront, token: string, headers: Record<string, string> = {}) {
  return exchange(`${url}/vendor-stage/preview`, {
    method: 'POST',
    body: token,
    headers: { 'content-type': 'text/plain', ...headers },
  })
}

describe('a preview link', () => {
  it('shows its stage alone, also one that is off, has ended or is hidden, and changes nothing', async () => {
    const shop = await openStorefront()
    const { id } = await shop.stage({ active: false, until: '2020-01-01T00:00Z', pageTypes: ['other'] })
    await shop.stage()
    const answer = await ask(shop, await tokenOf(shop, id), { cookie: `vendor-stage-hidden-${id}=1` })
    expect(answer.status).toBe(200)
    expect(jsonOf(answer)).toMatchObject({ success: true, total: 1, items: [{ id, endsIn: null }] })
    expect([answer.headers.get('cache-control'), answer.headers.get('set-cookie')]).toEqual(['no-store', null])
    expect(await shop.events()).toEqual([])
    expect(await shop.records.db.selectFrom('vendor_stage_session').selectAll().execute()).toEqual([])
  })

  it('is none without a token that this daemon has signed for it', async () => {
    const shop = await openStorefront()
    const { id } = await shop.stage()
    const token = await tokenOf(shop, id)
    const [head, payload, signature] = token.split('.') as [string, string, string]
    const forged = (claims: object) =>
      Buffer.from(
        JSON.stringify({ ...(JSON.parse(Buffer.from(payload, 'base64url').toString()) as object), ...claims }),
      ).toString('base64url')
    const unsigned = Buffer.from('{"alg":"none","typ":"stage-preview+jwt"}').toString('base64url')
    const keys = await shop.app.keys()
    const ofClient = await signToken(keys, { id: 'client', scopes: ['read', 'write'] }, shop.records.now(), 60_000)
    const past = await shop.app.keys()
    for (const wrong of [
      '',
      id,
      ofClient,
      `${head}.${payload}.`,
      `${unsigned}.${payload}.`,
      `${head}.${forged({ exp: 9_999_999_999 })}.${signature}`,
      `${head}.${payload}.${signature.replace(/^./, (first) => (first === 'A' ? 'B' : 'A'))}`,
      'x'.repeat(8000),
    ]) {
      const answer = await ask(shop, wrong)
      expect([answer.status, jsonOf(answer)], wrong.slice(0, 40)).toEqual([
        403,
        { success: false, message: expect.stringContaining('preview link') as string },
      ])
    }
    expect((await ask(shop, 'x'.repeat(9000))).status).toBe(413)
    expect(await verifyToken(past, token, shop.records.now())).toBeNull()
    expect((await exchange(`${shop.url}/vendor-stage/preview`)).status).toBe(405)
  })

  it('ends after an hour, with its client, and with its stage', async () => {
    const shop = await openStorefront()
    const { id } = await shop.stage()
    const { client } = await createClient(shop.records, 'editor', 'write')
    const token = await tokenOf(shop, id, client.id)
    expect((await ask(shop, token)).status).toBe(200)
    await revokeClient(shop.records, client.id)
    expect((await ask(shop, token)).status).toBe(403)
    const keys = await shop.app.keys()
    let late = 0
    const clock = { records: () => Promise.resolve({ ...shop.records, now: () => shop.records.now() + late }) }
    const previews = await openPreviews({ ...clock, keys: () => Promise.resolve(keys) })
    const { token: own, expiresAt } = await previews.sign(id, null)
    late = expiresAt - shop.records.now() - 1000
    expect(await previews.read(own)).toBe(id)
    late += 10_000
    expect(await previews.read(own)).toBeNull()
    await shop.records.db.updateTable('vendor_stage').set({ deleted: 'keep' }).execute()
    expect((await ask(shop, own)).status).toBe(404)
  })
})
