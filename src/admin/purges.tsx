import { useState } from 'preact/hooks'
import { readableUrl } from '../lib/safe-text.ts'
import { Form } from './actions.tsx'
import type { InvalidationList, Purged, PurgeItem, PurgeList } from './answers.ts'
import { useApi } from './api-context.ts'
import { useChannels } from './channels.ts'
import { assertNamesPage, toUrls } from './urls.ts'
import { formatCount, formatCounted, formatMs, unconfirmedText } from './format.ts'
import { Field, Known, Panel, Time } from './parts.tsx'
import { useRoute } from './route.ts'
import { Pager, Table, type Cell } from './table.tsx'
import { Copy, UrlActions } from './url-actions.tsx'
import { useResource } from './use-resource.ts'

const entityTypes = [
  { value: 'product', name: 'Product' },
  { value: 'category', name: 'Category' },
  { value: 'cms_page', name: 'CMS page' },
  { value: 'landing_page', name: 'Landing page' },
  { value: 'product_stream', name: 'Product stream' },
  { value: 'product_manufacturer', name: 'Manufacturer' },
  { value: 'sales_channel', name: 'Sales channel' },
  { value: 'snippet_set', name: 'Snippet set' },
  { value: 'theme', name: 'Theme' },
]
const portion = 25

export function PurgesView() {
  const [offset, setOffset] = useState(0)
  const recent = useResource<PurgeList>('vendor-cache/reverse-proxy-stats/recent', { limit: portion, offset }, 2000)
  return (
    <>
      <PurgeForm onPurged={recent.refresh} />
      <Panel title="Recent purges">
        <Known of={recent}>
          {({ items, total }) => (
            <>
              <Purges caption="Purges, newest first" items={items} />
              <Pager offset={offset} portion={portion} total={total} set={setOffset} />
            </>
          )}
        </Known>
      </Panel>
      <UrlFlow />
      <EntityTimeline />
      <Invalidations />
    </>
  )
}

function PurgeForm({ onPurged }: { onPurged(): void }) {
  const api = useApi()
  const channels = useChannels()
  const [kind, setKind] = useState('tags')
  const [value, setValue] = useState('')
  const purge = async () => {
    const values = value.split(/[\s,]+/).filter(Boolean)
    if (values.length === 0) throw new Error('Enter at least one tag, URL or path.')
    if (kind === 'urls') values.forEach(assertNamesPage)
    const body = kind === 'urls' ? { urls: values.flatMap((url) => toUrls(url, channels)) } : { tags: values }
    const { pagesRemoved, softened, unconfirmed } = await api.post<Purged>('vendor-cache/purge', body)
    onPurged()
    if (softened.length === 0) return `${formatCounted(pagesRemoved, 'page')} removed.${unconfirmedText(unconfirmed)}`
    const tags = softened.map(({ tag }) => tag).join(', ')
    return `${formatCounted(pagesRemoved, 'page')} removed or stale. Stale and renewed by a warmup, because they are too many: those with ${tags}.${unconfirmedText(unconfirmed)}`
  }
  if (!api.canWrite) return null
  return (
    <Panel title="Purge">
      <Form label="Purge" busy="Purging …" submit={purge} changes>
        <Field
          label="By"
          value={kind}
          set={setKind}
          list={[
            { value: 'tags', name: 'Tags' },
            { value: 'urls', name: 'URLs or paths' },
          ]}
        />
        <Field
          label={kind === 'tags' ? 'Tags, separated by spaces' : 'URLs or paths, separated by spaces'}
          value={value}
          set={setValue}
          width="wide"
        />
      </Form>
    </Panel>
  )
}

function Invalidations() {
  const [offset, setOffset] = useState(0)
  const invalidations = useResource<InvalidationList>(
    'vendor-cache/invalidation-log/recent',
    { limit: portion, offset },
    5000,
  )
  return (
    <Panel title="Invalidations">
      <Known of={invalidations}>
        {({ items, total }) => (
          <>
            <Table
              caption="Invalidations, newest first"
              head={['At', 'Source', 'Actor', 'Scope', 'Value', 'Pages', '']}
              rows={items.map((item) => [
                <Time at={item.at} />,
                item.source,
                item.actor ?? '–',
                item.scope,
                <code>{item.value ?? ''}</code>,
                <>
                  {item.pagesRemoved ?? '–'} <Unconfirmed nodes={item.unconfirmed} />
                </>,
                item.value === null ? null : <Copy text={item.value} />,
              ])}
              keys={items.map((item) => item.id)}
              empty="No invalidations yet."
            />
            <Pager offset={offset} portion={portion} total={total} set={setOffset} />
          </>
        )}
      </Known>
    </Panel>
  )
}

function UrlFlow() {
  const { params, change } = useRoute()
  const asked = params['url'] ?? ''
  const [url, setUrl] = useState(asked)
  const question = toUrls(asked, useChannels())[0]
  const flow = useResource<{ items: PurgeItem[]; total: number }>(
    asked === '' ? null : 'vendor-cache/reverse-proxy-log/url-flow',
    { url: question, limit: 1000 },
    5000,
  )
  const show = async () => {
    if (url.trim() !== '') assertNamesPage(url.trim())
    change({ url: url.trim() })
    return ''
  }
  return (
    <Panel title="Why was this page removed?">
      <Form label="Show purges" submit={show}>
        <Field label="URL or path of the page" type="search" value={url} set={setUrl} width="wide" />
      </Form>
      {asked === '' ? null : (
        <Known of={flow}>
          {({ items, total }) => <Purges caption={captionOf(question!, items.length, total)} items={items} />}
        </Known>
      )}
    </Panel>
  )
}

function EntityTimeline() {
  const { params, change } = useRoute()
  const entityType = params['entity'] ?? 'product'
  const asked = params['id'] ?? ''
  const [id, setId] = useState(asked)
  const looksLikeId = /^[0-9a-f-]{32,36}$/i.test(asked)
  const named = entityType === 'product' && !looksLikeId ? { entityNumber: asked } : { entityId: asked }
  const timeline = useResource<{ items: PurgeItem[]; total: number }>(
    asked === '' ? null : 'vendor-cache/reverse-proxy-log/entity-timeline',
    { entityType, ...named, limit: 1000 },
    5000,
  )
  const show = async () => {
    change({ id: id.trim() })
    return ''
  }
  return (
    <Panel title="What did this record purge?">
      <Form label="Show purges" submit={show}>
        <Field label="Record" value={entityType} set={(entity) => change({ entity })} list={entityTypes} />
        <Field
          label={entityType === 'product' ? 'ID or product number' : 'ID'}
          type="search"
          value={id}
          set={setId}
          width="wide"
        />
      </Form>
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
      head={['At', 'Key', 'Source', 'Pages', 'Proxies', '']}
      rows={items.map(toRow)}
      keys={items.map((item) => item.id)}
      empty="No purges."
    />
  )
}

/** Nodes that had no lease, and may have served the pages for a while after the purge. */
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

function toRow(item: PurgeItem): Cell[] {
  const entity = item.entityType ? `${item.entityType} ${item.entityNumber ?? item.entityId ?? ''}` : null
  const key = item.url ?? item.tag ?? item.type ?? item.value ?? ''
  const shown = item.url === null ? key : readableUrl(item.url)
  return [
    <Time at={item.createdAt} />,
    <span>
      {item.kind} <code>{shown}</code>
      {entity ? <small>{entity}</small> : null}
    </span>,
    item.source,
    item.mode === 'hard' ? (
      formatCount(item.pagesRemoved)
    ) : (
      <>
        {formatCount(item.pagesRemoved)}{' '}
        <small>{item.mode === 'soft' ? 'stale' : 'stale: above purge.softAbove'}</small>
      </>
    ),
    item.proxies.length + item.unconfirmed.length === 0 ? (
      '–'
    ) : (
      <span>
        <Unconfirmed nodes={item.unconfirmed} />
        {item.proxies.map((proxy) => (
          <span key={proxy.name} class={`badge ${proxy.status}`} title={proxy.error ?? undefined}>
            {proxy.name}: {proxy.status}
            {proxy.responseTime === null ? '' : ` in ${formatMs(proxy.responseTime)}`}
          </span>
        ))}
      </span>
    ),
    item.url ? <UrlActions url={item.url} purges={false} /> : key === '' ? null : <Copy text={key} />,
  ]
}
