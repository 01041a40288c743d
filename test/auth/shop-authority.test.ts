import { describe, expect, it } from 'vitest'
import { ShopAuthority } from '../../src/auth/shop-authority.ts'

const presenter = { address: '192.0.2.1', host: 'shop.example' }

function setUp(accepts: (token: string) => boolean | Promise<boolean>) {
  const clock = { now: 1_000_000 }
  const asked: string[] = []
  const authority = new ShopAuthority(
    async (token, host) => {
      asked.push(`${host} ${token}`)
      return accepts(token)
    },
    () => clock.now,
  )
  return { authority, clock, asked }
}

function jwt(payload: Record<string, unknown>): string {
  return ['{}', JSON.stringify(payload), 'signature'].map((part) => Buffer.from(part).toString('base64url')).join('.')
}

describe('a token that the shop accepts', () => {
  it('is checked once and trusted for 60 seconds', async () => {
    const { authority, clock, asked } = setUp(() => true)
    for (const _ of [1, 2, 3])
      expect(await authority.judge('token', presenter)).toEqual({
        kind: 'accepted',
        actor: 'shop:unknown',
        scopes: ['read', 'write'],
      })
    expect(asked).toEqual(['shop.example token'])
    clock.now += 60_000
    await authority.judge('token', presenter)
    expect(asked.length).toBe(2)
  })

  it('is not trusted after its own expiry', async () => {
    const { authority, clock, asked } = setUp(() => true)
    const token = jwt({ exp: 1010, sub: '0190c0de', aud: 'administration' })
    expect(await authority.judge(token, presenter)).toMatchObject({ actor: 'shop:0190c0de' })
    clock.now += 10_000
    await authority.judge(token, presenter)
    expect(asked.length).toBe(2)
  })

  it('is checked once for concurrent requests', async () => {
    const { authority, asked } = setUp(() => new Promise((resolve) => setImmediate(() => resolve(true))))
    await Promise.all(Array.from({ length: 20 }, () => authority.judge('token', presenter)))
    expect(asked.length).toBe(1)
  })

  it('of one shop is not accepted at another one', async () => {
    const { authority, asked } = setUp(() => true)
    await authority.judge('token', presenter)
    await authority.judge('token', { ...presenter, host: 'other.example' })
    expect(asked).toEqual(['shop.example token', 'other.example token'])
  })
})

describe('a token that the shop does not accept', () => {
  it('is refused and checked again only after a while', async () => {
    const { authority, clock, asked } = setUp(() => false)
    for (const _ of [1, 2]) expect(await authority.judge('token', presenter)).toMatchObject({ kind: 'refused' })
    expect(asked.length).toBe(1)
    clock.now += 5000
    await authority.judge('token', presenter)
    expect(asked.length).toBe(2)
  })

  it('limits how often one address makes the daemon ask the shop', async () => {
    const { authority, asked } = setUp(() => false)
    for (let turn = 0; turn < 30; turn++) await authority.judge(`token-${turn}`, presenter)
    expect(asked.length).toBe(10)
    expect(await authority.judge('another', presenter)).toMatchObject({ kind: 'limited' })
    expect(await authority.judge('another', { ...presenter, address: '198.51.100.1' })).toMatchObject({
      kind: 'refused',
    })
  })
})

it('a shop that does not answer does not refuse the token, and is asked again', async () => {
  const { authority, asked } = setUp(() => {
    throw new Error('down')
  })
  for (const _ of [1, 2]) expect(await authority.judge('token', presenter)).toMatchObject({ kind: 'unavailable' })
  expect(asked.length).toBe(2)
})

it.each(['', 'a b', 'a\nb', 'ä', 'x'.repeat(9000)])('%j is never sent to the shop', async (token) => {
  const { authority, asked } = setUp(() => true)
  expect(await authority.judge(token, presenter)).toMatchObject({ kind: 'refused' })
  expect(asked).toEqual([])
})
