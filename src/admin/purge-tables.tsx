import { readableUrl } from '../lib/safe-text.ts'
import type { InvalidationItem, PurgeItem } from './answers.ts'
import { formatCount, formatMs } from './format.ts'
import { Time } from './parts.tsx'
import { linkTo } from './route.ts'
import { Table, type Cell } from './table.tsx'
import { Copy, TagActions, UrlActions } from './url-actions.tsx'
import { Actor, Key } from './words.tsx'

interface Shown<Item> {
  items: readonly Item[]
  isWhole: boolean
  empty: string
}

export function PurgeTable({
  caption,
  items,
  ...shown
}: Shown<PurgeItem> & { caption: string; part?: { offset: number; portion: number } }) {
  return (
    <Table
      caption={caption}
      head={['At', 'Key', 'Source', 'Actor', 'Pages', 'Proxies', '']}
      rows={items.map(toRow)}
      keys={items.map((item) => item.id)}
      sort="here"
      {...shown}
    />
  )
}

/** The searchable text of a purge. */
export function textOf(item: PurgeItem): string {
  const { url, entityType, entityId, entityNumber, kind, source, actor, mode, proxies, unconfirmed } = item
  const key = url === null ? keyOf(item) : `${url} ${readableUrl(url)}`
  const deliveries = proxies.map(({ name, status }) => `${name} ${status}`)
  return [key, kind, entityType, entityId, entityNumber, source, actor, mode, ...deliveries, ...unconfirmed].join(' ')
}

function keyOf({ url, tag, type, value }: PurgeItem): string {
  return url ?? tag ?? type ?? value ?? ''
}

function toRow(item: PurgeItem): Cell[] {
  const key = keyOf(item)
  return [
    { by: item.createdAt, shown: <Time at={item.createdAt} /> },
    { by: `${item.kind} ${key}`, shown: <Purged item={item} /> },
    item.source,
    { by: item.actor, shown: <Actor id={item.actor} /> },
    {
      by: item.pagesRemoved,
      shown: (
        <>
          {formatCount(item.pagesRemoved)}
          {item.mode === 'hard' ? null : (
            <small>{item.mode === 'soft' ? 'stale' : 'stale: above purge.softAbove'}</small>
          )}
        </>
      ),
    },
    { by: item.proxies.map(({ status }) => status).join(' ') || null, shown: <Deliveries of={item} /> },
    <PurgeActions item={item} />,
  ]
}

function PurgeActions({ item }: { item: PurgeItem }) {
  const { url, tag } = item
  // The pattern of a BAN is logged in place of a URL.
  if (url !== null && /^https?:\/\//.test(url)) return <UrlActions url={url} />
  if (tag !== null) return <TagActions tag={tag} />
  const key = keyOf(item)
  return key === '' ? null : <Copy text={key} />
}

function Purged({ item }: { item: PurgeItem }) {
  const { entityType, entityId, entityNumber } = item
  const entity = entityNumber ?? entityId ?? ''
  return (
    <span>
      {item.kind} <Key text={keyOf(item)} />
      {entityType === null ? null : (
        <small>
          <a href={linkTo('purges', { entity: entityType, id: entity })}>
            {entityType} {entity}
          </a>
        </small>
      )}
    </span>
  )
}

function Deliveries({ of: { proxies, unconfirmed } }: { of: PurgeItem }) {
  if (proxies.length + unconfirmed.length === 0) return <>–</>
  return (
    <span>
      <Unconfirmed nodes={unconfirmed} />
      {proxies.map((proxy) => (
        <span key={proxy.name} class={`badge ${proxy.status}`} title={proxy.error ?? undefined}>
          {proxy.name}: {proxy.status}
          {proxy.responseTime === null ? '' : ` in ${formatMs(proxy.responseTime)}`}
        </span>
      ))}
    </span>
  )
}

/** Nodes without a lease, which may have served the pages for a while after the purge. */
function Unconfirmed({ nodes }: { nodes: readonly string[] }) {
  return (
    <>
      {nodes.map((name) => (
        <span key={name} class="badge unconfirmed" title="It had no lease and may have served old pages for a while">
          {name}: unconfirmed
        </span>
      ))}
    </>
  )
}

export function InvalidationTable({ items, ...shown }: Shown<InvalidationItem>) {
  return (
    <Table
      caption="Invalidations, newest first"
      head={['At', 'Source', 'Actor', 'Scope', 'Value', 'Pages', '']}
      rows={items.map((item) => [
        { by: item.at, shown: <Time at={item.at} /> },
        item.source,
        { by: item.actor, shown: <Actor id={item.actor} /> },
        item.scope,
        { by: item.value, shown: <Key text={item.value ?? ''} /> },
        {
          by: item.pagesRemoved,
          shown: (
            <>
              {formatCount(item.pagesRemoved)} <Unconfirmed nodes={item.unconfirmed} />
            </>
          ),
        },
        <InvalidationActions item={item} />,
      ])}
      keys={items.map((item) => item.id)}
      sort="here"
      {...shown}
    />
  )
}

function InvalidationActions({ item: { scope, value } }: { item: InvalidationItem }) {
  if (value === null) return null
  const isOne = !/\s/.test(value)
  if (scope === 'urls' && isOne) return <UrlActions url={value} />
  if (scope === 'tags' && isOne) return <TagActions tag={value} />
  return <Copy text={value} />
}
