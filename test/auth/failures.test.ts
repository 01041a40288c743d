import { describe, expect, it } from 'vitest'
import { createClient } from '../../src/auth/clients.ts'
import { Failures } from '../../src/auth/failures.ts'
import { openAuthority } from './authority.ts'

async function setUp() {
  const opened = await openAuthority()
  const { client, secret } = await createClient(opened.records, 'test', 'write')
  const grant = (address: string, clientSecret: string, clientId = client.id) =>
    opened.authority.grant({ clientId, clientSecret, scope: null, address })
  return { ...opened, client, secret, grant }
}

describe('guessing', () => {
  it('at one client from many addresses is limited, and the real client at another address still gets a token', async () => {
    const { grant, secret } = await setUp()
    const kinds: string[] = []
    for (let host = 0; host < 50; host++) kinds.push((await grant(`192.0.2.${host}`, 'wrong')).kind)
    expect(kinds[0]).toBe('unknown-client')
    expect(kinds.at(-1)).toBe('limited')
    expect(await grant('198.51.100.1', secret)).toMatchObject({ kind: 'granted' })
  })

  it('from one address at many clients is limited for that address only', async () => {
    const { grant, secret } = await setUp()
    for (let client = 0; client < 10; client++)
      expect(await grant('192.0.2.1', 'wrong', `client-${client}`)).toEqual({ kind: 'unknown-client' })
    expect(await grant('192.0.2.1', 'wrong', 'client-11')).toMatchObject({ kind: 'limited', retryAfter: 60 })
    expect(await grant('192.0.2.1', secret)).toMatchObject({ kind: 'limited' })
    expect(await grant('198.51.100.1', secret)).toMatchObject({ kind: 'granted' })
  })

  it('at an unknown client gives the same answers', async () => {
    const [one, other] = [await setUp(), await setUp()]
    for (let turn = 0; turn < 12; turn++)
      expect(await one.grant('192.0.2.1', 'wrong')).toEqual(await other.grant('192.0.2.1', 'wrong', 'unknown'))
  })
})

it('failures are forgotten after a minute', () => {
  const clock = { now: 0 }
  const failures = new Failures(() => clock.now)
  for (let turn = 0; turn < 10; turn++) failures.count('192.0.2.1', null)
  expect(failures.limitOf('192.0.2.1')).toBe(60)
  clock.now = 59_500
  expect(failures.limitOf('192.0.2.1')).toBe(1)
  clock.now = 60_000
  expect(failures.limitOf('192.0.2.1')).toBeNull()
})

describe('scopes', () => {
  it('a client gets the requested scopes, but none that it does not have', async () => {
    const { authority, records } = await openAuthority()
    const { client, secret } = await createClient(records, 'dashboard', 'read')
    const grant = (scope: string | null) =>
      authority.grant({ clientId: client.id, clientSecret: secret, scope, address: '192.0.2.1' })
    expect(await grant(null)).toMatchObject({ kind: 'granted', scopes: ['read'] })
    expect(await grant('read')).toMatchObject({ kind: 'granted', scopes: ['read'] })
    for (const scope of ['write', 'read write', 'admin']) expect(await grant(scope)).toEqual({ kind: 'invalid-scope' })
  })

  it('a client with write access can request less', async () => {
    const { authority, records } = await openAuthority()
    const { client, secret } = await createClient(records, 'deployment', 'write')
    expect(
      await authority.grant({ clientId: client.id, clientSecret: secret, scope: 'read', address: '' }),
    ).toMatchObject({ kind: 'granted', scopes: ['read'] })
    expect(
      await authority.grant({ clientId: client.id, clientSecret: secret, scope: null, address: '' }),
    ).toMatchObject({ kind: 'granted', scopes: ['read', 'write'] })
  })
})
