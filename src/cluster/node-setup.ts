import { randomUUID } from 'node:crypto'
import { hostname } from 'node:os'
import type { Lease } from './lease.ts'
import type { NodeSetup } from './run-node.ts'

/** `cluster` in the configuration; durations in milliseconds. */
export interface ClusterSettings {
  node: string | null
  mode: 'available' | 'strict'
  lease: number
  alone: number
}

export function toNodeSetup({ memory }: Lease, { node, mode, lease, alone }: ClusterSettings): NodeSetup {
  return {
    memory,
    member: randomUUID(),
    node: nodeName(node),
    lease,
    alone: mode === 'strict' ? 0 : alone,
    version: '',
  }
}

/** The configured name, or the host's with the characters that a name may have. */
export function nodeName(configured: string | null): string {
  return (
    configured ??
    (hostname()
      .replace(/[^\w.-]+/g, '-')
      .slice(0, 64) ||
      'node')
  )
}
