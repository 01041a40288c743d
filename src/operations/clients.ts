import * as z from 'zod/mini'
import type { Client } from '../auth/clients.ts'
import { PagecacheError } from '../errors.ts'
import { count, described, flag, id, limit, offset, success, succeeded, text } from './fields.ts'
import { defineOperation, allScopes } from './operation.ts'

/**
 * Over the API a client is made by another one. So that nobody who got hold of a token outlives the revocation of its client, it is
 * remembered who made whom, and all of them end together (docs/decisions/0026-clients-and-tokens.md).
 */

const scope = z.enum(['read', 'write'], { error: 'expected read or write' })
const instant = z.iso.datetime()

const clientView = z.object({
  clientId: z.string(),
  name: z.string(),
  scopes: z.array(scope),
  createdAt: instant,
  createdBy: described(z.nullable(z.string()), 'the client that made it over the API; null: the command line'),
  lastUsedAt: described(z.nullable(instant), 'when it last got a token, to the minute'),
  revokedAt: z.nullable(instant),
  revokedBy: described(z.nullable(z.string()), 'the client that revoked it over the API'),
})

const printableName = 'expected a name of 1 to 200 characters'

export const createApiClient = defineOperation({
  name: 'client.create',
  summary: 'Makes a client of the HTTP API; its secret is shown once',
  input: z.object({
    name: text(printableName).check(
      z.maxLength(200, { error: printableName }),
      z.regex(/^[^\u0000-\u001f\u007f]+$/, { error: printableName }),
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
    const wanted = scope === 'write' ? allScopes : [scope]
    // A token of `write` alone makes none that may read too: nobody gives what he has not got.
    if (!wanted.every((access) => scopes.includes(access)))
      throw new PagecacheError(
        'FORBIDDEN',
        `A client of the scopes ${wanted.join(' and ')} is made by one that has them.`,
      )
    const { createClient } = await import('../auth/clients.ts')
    const { client, secret } = await createClient(await app.records(), name, scope, actor)
    return { ...succeeded, clientId: client.id, clientSecret: secret, name: client.name, scopes: client.scopes }
  },
})

export const listApiClients = defineOperation({
  name: 'client.list',
  summary: 'Clients of the HTTP API, revoked ones too, the oldest first',
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
  summary: 'Ends a client of the HTTP API and all that it made; their tokens are void at once',
  input: z.object({ clientId: id('expected the id of a client') }),
  output: z.object({
    success,
    client: clientView,
    made: described(
      z.array(clientView),
      'the clients that were revoked with it: what it made, what those made, and so on',
    ),
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
  summary: 'Signs tokens with a new key from now on',
  input: z.object({ dropOld: described(flag, 'void all tokens that older keys have signed') }),
  output: z.object({ success, kid: z.string(), oldTokensValid: z.boolean() }),
  http: { method: 'POST', path: '/clients/rotate-key' },
  async run({ app }, { dropOld }) {
    const keys = await app.keys()
    return { ...succeeded, kid: keys.rotate({ dropOld }).kid, oldTokensValid: !dropOld }
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
