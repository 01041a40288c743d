import * as z from 'zod/mini'
import type { Client } from '../auth/clients.ts'
import { PagecacheError } from '../errors.ts'
import { count, described, flag, id, limit, offset, success, succeeded, text } from './fields.ts'
import type { Scope } from '../auth/judgement.ts'
import { defineOperation, allScopes } from './operation.ts'

/**
 * Clients can create clients over the API. Each client records its creator and is revoked with it; otherwise, a stolen token could be
 * used to create a client that survives the revocation (docs/decisions/0026-clients-and-tokens.md).
 */

const scope = z.enum(['read', 'write'], { error: 'expected read or write' })
const instant = z.iso.datetime()

const clientView = z.object({
  clientId: z.string(),
  name: z.string(),
  scopes: z.array(scope),
  createdAt: instant,
  createdBy: described(z.nullable(z.string()), 'the client that created it over the API; null: the command line'),
  lastUsedAt: described(z.nullable(instant), 'when it last fetched a token, to the minute'),
  revokedAt: z.nullable(instant),
  revokedBy: described(z.nullable(z.string()), 'the client that revoked it over the API'),
})

const nameError = 'expected a name of 1 to 200 characters, without control characters'

export const createApiClient = defineOperation({
  name: 'client.create',
  summary: 'Creates an API client; its secret is shown once',
  input: z.object({
    name: text(nameError).check(
      z.maxLength(200, { error: nameError }),
      z.regex(/^[^\u0000-\u001f\u007f]+$/, { error: nameError }),
      z.meta({ examples: ['deployment'] }),
    ),
    scope: z._default(scope, 'write'),
  }),
  output: z.object({
    success,
    clientId: z.string(),
    clientSecret: z.string(),
    name: z.string(),
    scopes: z.array(scope),
  }),
  http: { method: 'POST', path: '/clients' },
  async run({ app, actor, scopes }, { name, scope }) {
    const required: readonly Scope[] = scope === 'write' ? allScopes : [scope]
    // A client must not grant more access than it has: a token with `write` alone cannot create a client that also reads.
    if (!required.every((access) => scopes.includes(access)))
      throw new PagecacheError(
        'FORBIDDEN',
        `Creating a client with the scopes ${required.join(' and ')} requires a token with these scopes.`,
      )
    const { createClient } = await import('../auth/clients.ts')
    const { client, secret } = await createClient(await app.records(), name, scope, actor)
    return { ...succeeded, clientId: client.id, clientSecret: secret, name: client.name, scopes: client.scopes }
  },
})

export const listApiClients = defineOperation({
  name: 'client.list',
  summary: 'Lists the API clients, including revoked ones, oldest first',
  input: z.object({ limit, offset }),
  output: z.object({ success, total: count, limit: z.int(), offset: z.int(), items: z.array(clientView) }),
  http: { method: 'GET', path: '/clients' },
  async run({ app }, { limit, offset }) {
    const { listClients } = await import('../auth/clients.ts')
    const { total, clients } = await listClients(await app.records(), { limit, offset })
    return { ...succeeded, total, limit, offset, items: clients.map(toView) }
  },
})

export const revokeApiClient = defineOperation({
  name: 'client.revoke',
  summary: 'Revokes an API client and all clients it created; their tokens become invalid at once',
  input: z.object({ clientId: id('expected the id of a client') }),
  output: z.object({
    success,
    client: clientView,
    made: described(z.array(clientView), 'clients revoked with it: those it created, directly or indirectly'),
  }),
  http: { method: 'POST', path: '/clients/revoke' },
  async run({ app, actor }, { clientId }) {
    const { revokeClient } = await import('../auth/clients.ts')
    const { client, made } = await revokeClient(await app.records(), clientId, actor)
    return { ...succeeded, client: toView(client), made: made.map(toView) }
  },
})

export const rotateSigningKey = defineOperation({
  name: 'client.rotateKey',
  summary: 'Rotates the key that signs API tokens',
  input: z.object({ dropOld: described(flag, 'invalidate all tokens signed with older keys') }),
  output: z.object({ success, kid: z.string(), oldTokensValid: z.boolean() }),
  http: { method: 'POST', path: '/clients/rotate-key' },
  async run({ app }, { dropOld }) {
    const keys = await app.keys()
    return { ...succeeded, kid: (await keys.rotate({ dropOld })).kid, oldTokensValid: !dropOld }
  },
})

function toView({
  id,
  name,
  scopes,
  createdAt,
  createdBy,
  lastUsedAt,
  revokedAt,
  revokedBy,
}: Client): z.output<typeof clientView> {
  const at = (time: number) => new Date(time).toISOString()
  return {
    clientId: id,
    name,
    scopes,
    createdAt: at(createdAt),
    createdBy,
    lastUsedAt: lastUsedAt === null ? null : at(lastUsedAt),
    revokedAt: revokedAt === null ? null : at(revokedAt),
    revokedBy,
  }
}
