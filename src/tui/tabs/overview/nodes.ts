import { formatCount } from '../../../lib/format.ts'
import type { listNodes, NodeValue } from '../../../operations/cluster.ts'
import type { ValueOf } from '../../../operations/operation.ts'
import { block, label, labelWidth } from '../../block.ts'
import { known, moment } from '../../facts.ts'
import type { Block, Panel, Row } from '../../panel.ts'
import { shortMs } from '../../text/amount.ts'
import { join, span, type Line, type Tone } from '../../text/line.ts'
import { cutMiddle, padEnd, padStart } from '../../text/width.ts'

export type Nodes = ValueOf<typeof listNodes>

const tones: Readonly<Record<NodeValue['state'], Tone>> = { live: 'good', suspect: 'warn', gone: 'bad' }

/** How many nodes are live, and the names of the others. One machine has no such line. */
export function nodeBlocks({ clustered, items }: Nodes): Block[] {
  if (!clustered) return []
  const live = items.filter(({ state }) => state === 'live').length
  const others = items.filter(({ state }) => state !== 'live')
  const spans = others.map(({ name, state }) => [span(`${name} ${state}`, tones[state])])
  return [
    block(1, (width) => [[label('nodes'), ...join([[span(`${live} live`, 'strong')], ...spans], width - labelWidth)]]),
  ]
}

/** A table of the nodes. `time`: milliseconds since the epoch. */
export function nodesPanel({ items, total }: Nodes, time: number): Panel {
  const rows = items.map((node): Row => {
    const { name, state, purgesBehind, leaseLeft, address, version, since } = node
    const line = (width: number): Line => {
      const room = nameCells(width)
      return [
        span(padEnd(cutMiddle(name, room - 1), room)),
        span(padEnd(state, 9), tones[state]),
        span(padStart(formatCount(purgesBehind), 7), purgesBehind > 0 ? 'warn' : 'dim'),
        span(padStart(leaseLeft ? shortMs(leaseLeft) : '', 9), 'dim'),
        span(`  ${cutMiddle(address ?? '', Math.max(1, width - room - 27))}`, 'dim'),
      ]
    }
    const facts = known([
      ['State', state],
      ['Purges behind', formatCount(purgesBehind)],
      ['Lease left', leaseLeft ? shortMs(leaseLeft) : null],
      ['Address', address],
      ['Version', version],
      ['Since', since === null ? null : moment(since, time)],
      ['Remove', state === 'live' ? null : `pagecache cluster:forget ${name}`],
    ])
    const detail = { title: `Node ${name}`, url: null, facts }
    return { id: name, line, text: `${name} ${state}`, status: null, ms: null, bad: state !== 'live', detail }
  })
  const head = (width: number) => [
    span(
      `${padEnd('node', nameCells(width))}${padEnd('state', 9)}${padStart('behind', 7)}${padStart('lease', 9)}  address`,
    ),
  ]
  return { id: 'nodes', title: 'Nodes', total, rows, head, empty: 'No daemon runs on any machine.' }
}

/** Cells of the name of a node. */
function nameCells(width: number): number {
  return Math.max(8, Math.min(24, Math.floor(width / 4)))
}
