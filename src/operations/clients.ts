import * as z from 'zod/mini'
import type { Client } from '../auth/clients.ts'
import { count, described, success, succeeded, text } from './fields.ts'
import { defineOperation } from './operation.ts'

/**
 * Clients are made and ended on the daemon's own machine alone: who has got hold of a token could otherwise make itself a client
 * that outlives the revocation of the first (docs/decisions/0028-local-commands.md).
 */

const scope = z.enum(['read', 'write'], { error: 'expected read or write' })
const instant = z.iso.datetime()

const clientView = z.object({
  clientId: z.string(),
  name: z.string(),
  scopes: z.array(scope),
  createdAt: instant,
  lastUsedAt: described(z.nullable(instant), 'when it last got a token, to the minute'),
  revokedAt: z.nullable(instant),
})

const printableName = 'expected a name of 1 to 200 characters'

export const createApiClient = defineOperation({
  name: 'client.create',
  summary: 'Makes a client of the HTTP API; its secret is shown once',
  input: z.object({
    name: text(printableName).check(z.maxLength(200, { error: printableName }), z.regex(/^[^\u0000-\u001f\u007f]+$/, { error: printableName })),
    scope: z._default(scope, 'write'),
  }),
  output: z.object({ success, clientId: z.string(), clientSecret: z.string(), name: z.string(), scopes: z.array(scope) }),
  async run({ app }, { name, scope }) {
    const { createClient } = await import('../auth/clients.ts')
    const { client, secret } = await createClient(await app.records(), name, scope)
    return { ...succeeded, clientId: client.id, clientSecret: secret, name: client.name, scopes: client.scopes }
  },
})

export const listApiClients = defineOperation({
  name: 'client.list',
  summary: 'Clients of the HTTP API, revoked ones too',
  input: z.object({}),
  output: z.object({ success, total: count, items: z.array(clientView) }),
  async run({ app }) {
    const { listClients } = await import('../auth/clients.ts')
    const items = (await listClients(await app.records())).map(toView)
    return { ...succeeded, total: items.length, items }
  },
})

export const revokeApiClient = defineOperation({
  name: 'client.revoke',
  summary: 'Ends a client of the HTTP API; its tokens are void at once',
  input: z.object({ clientId: text() }),
  output: z.object({ success, client: clientView }),
  async run({ app }, { clientId }) {
    const { revokeClient } = await import('../auth/clients.ts')
    return { ...succeeded, client: toView(await revokeClient(await app.records(), clientId)) }
  },
})

export const rotateSigningKey = defineOperation({
  name: 'client.rotateKey',
  summary: 'Signs tokens with a new key from now on',
  input: z.object({ dropOld: z._default(z.boolean({ error: 'expected true or false' }), false) }),
  output: z.object({ success, kid: z.string(), oldTokensValid: z.boolean() }),
  async run({ app }, { dropOld }) {
    const keys = await app.keys()
    return { ...succeeded, kid: keys.rotate({ dropOld }).kid, oldTokensValid: !dropOld }
  },
})

function toView({ id, name, scopes, createdAt, lastUsedAt, revokedAt }: Client): z.output<typeof clientView> {
  const at = (time: number) => new Date(time).toISOString()
  return {
    clientId: id,
    name,
    scopes,
    createdAt: at(createdAt),
    lastUsedAt: lastUsedAt === null ? null : at(lastUsedAt),
    revokedAt: revokedAt === null ? null : at(revokedAt),
  }
}
