import * as z from 'zod/mini'
import type { App } from '../app.ts'
import { PagecacheError } from '../errors.ts'
import { count, described, flag, limit, offset, success, succeeded, text } from './fields.ts'
import { defineOperation } from './operation.ts'

/** A machine of the installation. */
export const nodeView = z.object({
  name: z.string(),
  address: described(z.nullable(z.string()), 'where its daemon listens, as a URL'),
  version: z.string(),
  since: described(z.nullable(z.iso.datetime()), 'when its daemon started'),
  state: described(
    z.enum(['live', 'suspect', 'gone']),
    'suspect: silent or starting, so that it serves nothing from its cache under a lease; gone: silent for more than 10 minutes, or without a daemon',
  ),
  purgesBehind: described(count, 'purges that it has not applied yet'),
  leaseLeft: described(
    z.nullable(z.number()),
    'milliseconds until its lease ends unless it is extended; null with one machine, which needs none',
  ),
})

export type NodeValue = z.output<typeof nodeView>

/** The nodes of the cluster; null with one machine. */
export async function readClusterNodes(app: App): Promise<NodeValue[] | null> {
  if (app.node === null) return null
  const { readNodes } = await import('../cluster/nodes.ts')
  const nodes = await readNodes((await app.records()).db)
  return nodes.map(({ name, address, version, since, state, behind, leaseLeft }) => ({
    name,
    address,
    version,
    since: new Date(since).toISOString(),
    state,
    purgesBehind: behind,
    leaseLeft,
  }))
}

export const listNodes = defineOperation({
  name: 'cluster.nodes',
  summary: 'Lists the machines of the cluster by name',
  input: z.object({ limit, offset }),
  output: z.object({
    success,
    clustered: described(z.boolean(), 'false: the records are in SQLite, and there is one machine'),
    total: count,
    limit: count,
    offset: count,
    items: z.array(nodeView),
  }),
  http: { method: 'GET', path: '/cluster/nodes' },
  async run({ app }, { limit, offset }) {
    const nodes = await readClusterNodes(app)
    const items = nodes?.slice(offset, offset + limit) ?? []
    return { ...succeeded, clustered: nodes !== null, total: nodes?.length ?? 0, limit, offset, items }
  },
})

export const forgetNode = defineOperation({
  name: 'cluster.forget',
  summary: 'Removes a machine from the cluster; if it returns, it starts with an empty cache',
  input: z.object({
    node: text('expected the name of a node'),
    force: described(flag, 'also a node that is live, or may still serve pages without a lease'),
  }),
  output: z.object({
    success,
    name: z.string(),
    processes: described(count, 'serving processes that were removed'),
  }),
  http: { method: 'POST', path: '/cluster/forget' },
  /** @throws NOT_FOUND, WRONG_STATE */
  async run({ app }, { node, force }) {
    if (app.node === null) throw new PagecacheError('WRONG_STATE', noCluster)
    const { forgetNode: forget } = await import('../cluster/forget.ts')
    return { ...succeeded, name: node, processes: await forget((await app.records()).db, node, { force }) }
  },
})

/** Why there are no nodes with SQLite. */
export const noCluster =
  'This installation has one machine, because its records are in SQLite. With records.url, several machines share a PostgreSQL database.'
