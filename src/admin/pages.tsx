import { useEffect, useState } from 'preact/hooks'
import { readableUrl } from '../lib/safe-text.ts'
import { Form } from './actions.tsx'
import type { Inspection, PageList } from './answers.ts'
import { useChannels } from './channels.ts'
import { assertNamesPage, toUrls, type Channel } from './urls.ts'
import { formatBytes, formatCounted, formatSeconds } from './format.ts'
import { Field, Known, Panel, Time } from './parts.tsx'
import { useRoute } from './route.ts'
import { Pager, Table, type Order } from './table.tsx'
import { UrlActions } from './url-actions.tsx'
import { useResource } from './use-resource.ts'

const types = [
  { value: '', name: 'All types' },
  ...['products', 'categories', 'cms', 'listings', 'buybox'].map((type) => ({ value: type, name: type })),
]
const portion = 50

/** Columns and the names of their orders in the API. */
const orders: Readonly<Record<string, string>> = { URL: 'url', Hits: 'hits', Size: 'size', Stored: 'stored' }

export function PagesView() {
  const channels = useChannels()
  return (
    <>
      <Inspect channels={channels} />
      <Panel title="Cached pages">
        <Filter />
        <List channels={channels} />
      </Panel>
    </>
  )
}

function Filter() {
  const { params, change } = useRoute()
  const [tag, setTag] = useState(params['tag'] ?? '')
  const [prefix, setPrefix] = useState(params['prefix'] ?? '')
  const search = async () => {
    if (prefix.trim() !== '') assertNamesPage(prefix.trim())
    change({ tag: tag.trim(), prefix: prefix.trim(), offset: '' })
    return ''
  }
  return (
    <Form label="Search" submit={search}>
      <Field label="Type" value={params['type'] ?? ''} set={(type) => change({ type, offset: '' })} list={types} />
      <Field label="Tag" type="search" value={tag} set={setTag} />
      <Field label="URL or path begins with" type="search" value={prefix} set={setPrefix} width="wide" />
    </Form>
  )
}

function List({ channels }: { channels: readonly Channel[] }) {
  const { params, change } = useRoute()
  const { type, tag, prefix = '', sort = '' } = params
  const offset = Number(params['offset'] ?? 0) || 0
  const pages = useResource<PageList>(
    'vendor-cache/pages',
    { type, tag, prefix: toUrls(prefix, channels)[0], sort, limit: portion, offset },
    /hits|size/.test(sort) ? 60_000 : 5000,
  )
  const sortBy = ({ column, descending }: Order) =>
    change({ sort: `${descending ? '-' : ''}${orders[column]}`, offset: '' })
  return (
    <Known of={pages}>
      {({ items, total }) => (
        <>
          <p class="soft">{formatCounted(total, 'page')}</p>
          <Table
            caption="Cached pages"
            head={['URL', 'Type', 'State', 'Hits', 'Size', 'Stored', '']}
            rows={items.map((page) => [
              <code>{readableUrl(page.url)}</code>,
              page.type,
              <span class={`badge ${page.state === 'fresh' ? 'ok' : 'paused'}`}>{page.state}</span>,
              page.hits,
              { by: page.size, shown: formatBytes(page.size) },
              <Time at={page.storedAt} />,
              <UrlActions url={page.url} onChanged={pages.refresh} />,
            ])}
            keys={items.map((page) => `${page.key} ${page.storedAt}`)}
            sort={{ columns: Object.keys(orders), order: toOrder(sort), set: sortBy }}
            empty={
              type || tag || prefix
                ? 'No cached page matches.'
                : 'No cached pages yet. Visit the shop, or start a warmup.'
            }
          />
          <Pager offset={offset} portion={portion} total={total} set={(next) => change({ offset: String(next) })} />
        </>
      )}
    </Known>
  )
}

function toOrder(sort: string): Order | null {
  const descending = sort.startsWith('-')
  const column = Object.keys(orders).find((name) => orders[name] === sort.slice(descending ? 1 : 0))
  return column === undefined ? null : { column, descending }
}

function Inspect({ channels }: { channels: readonly Channel[] }) {
  const { params, change } = useRoute()
  const asked = params['inspect'] ?? ''
  const [url, setUrl] = useState(asked)
  // A row of a list asks for its page by a link.
  useEffect(() => setUrl(asked), [asked])
  const question = toUrls(asked, channels)[0]
  const inspection = useResource<Inspection>(
    asked === '' ? null : 'vendor-cache/pages/inspect',
    { url: question },
    5000,
  )
  const inspect = async () => {
    if (url.trim() !== '') assertNamesPage(url.trim())
    change({ inspect: url.trim() })
    return ''
  }
  return (
    <Panel title="Is this page cached?">
      <Form label="Inspect" submit={inspect}>
        <Field label="URL or path of the page" type="search" value={url} set={setUrl} width="wide" />
      </Form>
      {asked === '' ? null : (
        <Known of={inspection}>
          {({ url: canonical, cached, reason, explanation, pages }) => (
            <>
              <p>
                <span class={`badge ${cached ? 'completed' : 'paused'}`}>{cached ? 'cached' : 'not cached'}</span>{' '}
                <code>{readableUrl(canonical)}</code> {reason}
              </p>
              <ul>
                {explanation.map((line) => (
                  <li key={line}>{line}</li>
                ))}
              </ul>
              <Table
                caption="Stored variants"
                head={['Variant', 'State', 'Fresh for', 'Hits', 'Size', 'Tags']}
                rows={pages.map((page) => [
                  <code>{page.key}</code>,
                  page.state,
                  { by: page.freshnessLeft, shown: formatSeconds(page.freshnessLeft) },
                  page.hits,
                  { by: page.size, shown: formatBytes(page.size) },
                  <Tags of={page.tags} />,
                ])}
                keys={pages.map((page) => page.key)}
                sort="here"
                empty="No stored variants."
              />
              <UrlActions url={canonical} onChanged={inspection.refresh} />
            </>
          )}
        </Known>
      )}
    </Panel>
  )
}

const shownTags = 6

/** The tags of a page; many are folded. */
function Tags({ of }: { of: readonly string[] }) {
  if (of.length <= shownTags) return <code>{of.join(' ')}</code>
  return (
    <details class="tags">
      <summary>{formatCounted(of.length, 'tag')}</summary>
      <code>{of.join(' ')}</code>
    </details>
  )
}
