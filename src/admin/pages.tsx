import { formatDuration } from '../lib/format.ts'
import { formatBytes } from '../lib/format-bytes.ts'
import { printable } from '../lib/safe-text.ts'
import { Form } from './actions.tsx'
import type { Inspection, PageItem } from './answers.ts'
import { useChannels } from './channels.ts'
import { assertNamesPage, toUrls, type Channel } from './urls.ts'
import { formatCounted } from './format.ts'
import { Pager, useList } from './list.tsx'
import { usePortion } from './log.tsx'
import { Field, Known, Panel, Time } from './parts.tsx'
import { useRoute } from './route.ts'
import { Table, type Order } from './table.tsx'
import { UrlActions } from './url-actions.tsx'
import { useQuestion } from './use-question.ts'
import { useResource } from './use-resource.ts'
import { useText } from './use-text.ts'
import { Key } from './words.tsx'

const types = [
  { value: '', name: 'All types' },
  ...['products', 'categories', 'cms', 'listings', 'buybox'].map((type) => ({ value: type, name: type })),
]

/** Columns and the names of their orders in the API. */
const orders: Readonly<Record<string, string>> = { URL: 'url', Hits: 'hits', Size: 'size', Stored: 'stored' }

/** A new filter begins at the first row. */
const firstPage = { 'pages-from': '' }

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
  const [tag, setTag] = useText(params['tag'] ?? '')
  const [prefix, setPrefix] = useText(params['prefix'] ?? '')
  const search = async () => {
    if (prefix.trim() !== '') assertNamesPage(prefix.trim())
    change({ tag: tag.trim(), prefix: prefix.trim(), ...firstPage })
    return ''
  }
  return (
    <Form label="Search" submit={search}>
      <Field label="Type" value={params['type'] ?? ''} set={(type) => change({ type, ...firstPage })} list={types} />
      <Field label="Tag" type="search" value={tag} set={setTag} />
      <Field label="URL or path begins with" type="search" value={prefix} set={setPrefix} width="wide" />
    </Form>
  )
}

function List({ channels }: { channels: readonly Channel[] }) {
  const { params, change } = useRoute()
  const { type, tag, prefix = '', sort = '' } = params
  const list = useList('pages', 50)
  const pages = usePortion<PageItem>('vendor-cache/pages', list, /hits|size/.test(sort) ? 60_000 : 5000, {
    type,
    tag,
    prefix: toUrls(prefix, channels)[0],
    sort,
  })
  const sortBy = ({ column, descending }: Order) =>
    change({ sort: `${descending ? '-' : ''}${orders[column]}`, ...firstPage })
  return (
    <Known of={pages}>
      {({ items, total }) => (
        <>
          <p class="soft">{formatCounted(total, 'page')}</p>
          <Table
            caption="Cached pages"
            head={['URL', 'Type', 'State', 'Hits', 'Size', 'Stored', '']}
            rows={items.map((page) => [
              <Key text={page.url} />,
              <span class="whole">{page.type}</span>,
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
          <Pager list={list} total={total} />
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
  const { change } = useRoute()
  const { asked, text: url, setText: setUrl, place } = useQuestion('inspect')
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
    <Panel title="Is this page cached?" place={place}>
      <Form label="Inspect" submit={inspect}>
        <Field label="URL or path of the page" type="search" value={url} set={setUrl} width="wide" />
      </Form>
      {asked === '' ? null : (
        <Known of={inspection}>
          {({ url: canonical, cached, reason, remedy, explanation, pages }) => (
            <>
              <p>
                <span class={`badge ${cached ? 'completed' : 'paused'}`}>{cached ? 'cached' : 'not cached'}</span>{' '}
                <Key text={canonical} /> {reason}
              </p>
              {remedy === null ? null : <p class="warnings">{remedy}</p>}
              <ul>
                {explanation.map((line) => (
                  <li key={line}>{line}</li>
                ))}
              </ul>
              <Table
                caption="Stored variants"
                head={['Variant', 'State', 'Fresh for', 'Hits', 'Size', 'Tags']}
                rows={pages.map((page) => [
                  <Key text={page.key} />,
                  page.state,
                  { by: page.freshnessLeft, shown: formatDuration(Math.max(0, page.freshnessLeft)) },
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
  if (of.length <= shownTags) return <code>{printable(of.join(' '))}</code>
  return (
    <details class="tags">
      <summary>{formatCounted(of.length, 'tag')}</summary>
      <code>{printable(of.join(' '))}</code>
    </details>
  )
}
