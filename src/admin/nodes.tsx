import type { NodeList } from './answers.ts'
import { formatMs } from './format.ts'
import { Known, Panel, Time } from './parts.tsx'
import { Table } from './table.tsx'
import { useResource } from './use-resource.ts'

/** A table of the cluster's nodes; hidden with one machine. */
export function NodesPanel() {
  const nodes = useResource<NodeList>('vendor-cache/cluster/nodes', { limit: 1000 }, 2000)
  if (nodes.value?.clustered !== true) return null
  return (
    <Panel title="Nodes">
      <Known of={nodes}>
        {({ items }) => (
          <Table
            caption="Nodes by name"
            head={['Node', 'State', 'Purges behind', 'Lease left', 'Address', 'Version', 'Since']}
            rows={items.map((node) => [
              node.name,
              { by: node.state, shown: <span class={`badge ${node.state}`}>{node.state}</span> },
              node.purgesBehind,
              { by: node.leaseLeft, shown: node.leaseLeft ? formatMs(node.leaseLeft) : '–' },
              <code>{node.address ?? '–'}</code>,
              node.version,
              { by: node.since, shown: <Time at={node.since} /> },
            ])}
            keys={items.map(({ name }) => name)}
            sort="here"
            empty="No daemon runs on any machine of this cluster."
          />
        )}
      </Known>
    </Panel>
  )
}
