import { useState } from 'preact/hooks'
import type { PurgeItem, PurgeList, InvalidationList } from './answers.ts'
import { formatCount, formatCounted, formatMs, formatTime } from './format.ts'
import { Act, Field, Known, Panel, Table, useRested, type Cell } from './parts.tsx'
import { useApi } from './api-context.ts'
import { useResource } from './use-resource.ts'

const entityTypes = [
  'product',
  'category',
  'cms_page',
  'landing_page',
  'product_stream',
  'product_manufacturer',
  'sales_channel',
  'snippet_set',
  'theme',
] as const
const portion = 25

export function PurgesView() {
  const [offset, setOffset] = useState(0)
  const recent = useResource<PurgeList>('vendor-cache/reverse-proxy-stats/recent', { limit: portion, offset }, 2000)
  const invalidations = useResource<InvalidationList>('vendor-cache/invalidation-log/recent', { limit: 10 }, 5000)
  const refresh = () => {
    recent.refresh()
    invalidations.refresh()
  }
  return (
    <>
      <PurgeForm onPurged={refresh} />
      <Panel title="Recent purges">
        <Known of={recent}>
          {({ items, total }) => (
            <>
              <Purges caption="Purges, newest first" items={items} />
              <div class="row">
                <button type="button" disabled={offset === 0} onClick={() => setOffset(Math.max(0, offset - portion))}>
                  Newer
                </button>
                <button type="button" disabled={offset + portion >= total} onClick={() => setOffset(offset + portion)}>
                  Older
                </button>
                <span class="soft">{formatCount(total)} in all</span>
              </div>
            </>
          )}
        </Known>
      </Panel>
      <UrlFlow />
      <EntityTimeline />
      <Panel title="Invalidations">
        <Known of={invalidations}>
          {({ items }) => (
            <Table
              caption="Invalidations, newest first"
              head={['At', 'From', 'Who', 'What', 'Value', 'Pages']}
              rows={items.map((item) => [
                formatTime(item.at),
                item.source,
                item.actor ?? '–',
                item.scope,
                <code>{item.value ?? ''}</code>,
                item.pagesRemoved ?? '–',
              ])}
              empty="No invalidations yet."
            />
          )}
        </Known>
      </Panel>
    </>
  )
}

function PurgeForm({ onPurged }: { onPurged(): void }) {
  const api = useApi()
  const [kind, setKind] = useState('tags')
  const [value, setValue] = useState('')
  const purge = async () => {
    const values = value.split(/[\s,]+/).filter(Boolean)
    if (values.length === 0) throw new Error('Enter at least one.')
    const { pagesRemoved } = await api.post<{ pagesRemoved: number }>('vendor-cache/purge', { [kind]: values })
    onPurged()
    return `${formatCounted(pagesRemoved, 'page')} removed.`
  }
  return (
    <Panel title="Purge">
      <div class="row">
        <Field label="By" value={kind} set={setKind} list={['tags', 'urls']} />
        <Field label="Tags or URLs, separated by spaces" value={value} set={setValue} width="wide" />
        <Act label="Purge" busy="Purging …" act={purge} />
      </div>
    </Panel>
  )
}

function UrlFlow() {
  const [url, setUrl] = useState('')
  const asked = useRested(url.trim())
  const flow = useResource<{ items: PurgeItem[]; total: number }>(
    asked === '' ? null : 'vendor-cache/reverse-proxy-log/url-flow',
    { url: asked, limit: 1000 },
    5000,
  )
  return (
    <Panel title="Why was this page removed?">
      <Field label="URL of the page" value={url} set={setUrl} width="wide" />
      {asked === '' ? null : (
        <Known of={flow}>
          {({ items, total }) => <Purges caption={captionOf(asked, items.length, total)} items={items} />}
        </Known>
      )}
    </Panel>
  )
}

function EntityTimeline() {
  const [entityType, setEntityType] = useState<string>('product')
  const [id, setId] = useState('')
  const asked = useRested(id.trim())
  const looksLikeId = /^[0-9a-f-]{32,36}$/i.test(asked)
  const named = entityType === 'product' && !looksLikeId ? { entityNumber: asked } : { entityId: asked }
  const timeline = useResource<{ items: PurgeItem[]; total: number }>(
    asked === '' ? null : 'vendor-cache/reverse-proxy-log/entity-timeline',
    { entityType, ...named, limit: 1000 },
    5000,
  )
  return (
    <Panel title="What did this record purge?">
      <div class="row">
        <Field label="Record" value={entityType} set={setEntityType} list={entityTypes} />
        <Field label={entityType === 'product' ? 'ID or product number' : 'ID'} value={id} set={setId} width="wide" />
      </div>
      {asked === '' ? null : (
        <Known of={timeline}>
          {({ items, total }) => (
            <Purges caption={captionOf(`${entityType} ${asked}`, items.length, total)} items={items} />
          )}
        </Known>
      )}
    </Panel>
  )
}

function captionOf(what: string, shown: number, total: number): string {
  return `Purges of ${what}, oldest first${shown < total ? `: the newest ${formatCount(shown)} of ${formatCount(total)}` : ''}`
}

function Purges({ caption, items }: { caption: string; items: readonly PurgeItem[] }) {
  return (
    <Table
      caption={caption}
      head={['At', 'Key', 'Source', 'Pages', 'Proxies']}
      rows={items.map(toRow)}
      empty="No purges."
    />
  )
}

function toRow(item: PurgeItem): Cell[] {
  const entity = item.entityType ? `${item.entityType} ${item.entityNumber ?? item.entityId ?? ''}` : null
  return [
    formatTime(item.createdAt),
    <>
      {item.kind} <code>{item.url ?? item.tag ?? item.type ?? item.value ?? ''}</code>
      {entity ? <small>{entity}</small> : null}
    </>,
    item.source,
    item.pagesRemoved ?? '–',
    item.proxies.length === 0
      ? '–'
      : item.proxies.map((proxy) => (
          <span key={proxy.name} class={`badge ${proxy.status}`} title={proxy.error ?? undefined}>
            {proxy.name}: {proxy.status}
            {proxy.responseTime === null ? '' : ` in ${formatMs(proxy.responseTime)}`}
          </span>
        )),
  ]
}
