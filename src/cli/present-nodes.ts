import { noCluster, type listNodes, type NodeValue } from '../operations/cluster.ts'
import type { ValueOf } from '../operations/operation.ts'
import { presentList, type Column, type ViewFlags } from './list.ts'
import type { Output } from './output.ts'

const columns: readonly Column<NodeValue>[] = [
  { name: 'name', value: (node) => node.name, kind: 'text' },
  { name: 'state', value: (node) => node.state },
  { name: 'purges behind', value: (node) => node.purgesBehind },
  { name: 'lease left', value: (node) => leaseText(node.leaseLeft) },
  { name: 'address', value: (node) => node.address, kind: 'url' },
  { name: 'version', value: (node) => node.version, minor: true },
  { name: 'since', value: (node) => node.since, kind: 'time', minor: true },
]

/** Prints the machines of the cluster. */
export async function presentNodes(value: ValueOf<typeof listNodes>, output: Output, flags: ViewFlags): Promise<void> {
  if (!value.clustered && !flags.csv && !flags.jsonl) return output.prose(noCluster)
  const empty = 'No daemon runs on any machine of this cluster. Start one with: pagecache serve'
  await presentList({ columns, ...value, noun: 'node', empty }, output, flags)
}

function leaseText(left: number | null): string | null {
  return left === null || left === 0 ? null : `${Math.round(left)} ms`
}
