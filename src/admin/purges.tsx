import { useState } from 'preact/hooks'
import { Form } from './actions.tsx'
import type { InvalidationItem, Purged, PurgeItem } from './answers.ts'
import { useApi } from './api-context.ts'
import { useChannels } from './channels.ts'
import { formatCount, formatCounted, unconfirmedText } from './format.ts'
import { LocalPager, LocalSearch, pick, useList } from './list.tsx'
import { Log, useLog } from './log.tsx'
import { Field, Known, Panel } from './parts.tsx'
import { InvalidationTable, PurgeTable, textOf } from './purge-tables.tsx'
import { useRoute } from './route.ts'
import { useQuestion } from './use-question.ts'
import { assertNamesPage, toUrls } from './urls.ts'
import { useResource, type Resource } from './use-resource.ts'

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

export function PurgesView() {
  const list = useList('purges')
  const recent = useLog<PurgeItem>('vendor-cache/reverse-proxy-stats/recent', list, 2000)
  return (
    <>
      <PurgeForm onPurged={recent.refresh} />
      <Panel title="Recent purges">
        <Log of={recent} list={list} label="URL, tag, type, source or actor contains">
          {(items, empty) => (
            <PurgeTable
              caption="Purges, newest first"
              items={items}
              isWhole={recent.value?.total === items.length}
              empty={empty ?? 'No purges yet.'}
            />
          )}
        </Log>
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
  const list = useList('invalidations')
  const invalidations = useLog<InvalidationItem>('vendor-cache/invalidation-log/recent', list, 5000)
  return (
    <Panel title="Invalidations">
      <Log of={invalidations} list={list} label="Value, scope, source or actor contains">
        {(items, empty) => (
          <InvalidationTable
            items={items}
            isWhole={invalidations.value?.total === items.length}
            empty={empty ?? 'No invalidations yet.'}
          />
        )}
      </Log>
    </Panel>
  )
}

function UrlFlow() {
  const { change } = useRoute()
  const { asked, text: url, setText: setUrl, place } = useQuestion('url')
  const question = toUrls(asked, useChannels())[0]
  const flow = useResource<History>(
    asked === '' ? null : 'vendor-cache/reverse-proxy-log/url-flow',
    { url: question, limit: 1000 },
    5000,
  )
  const show = async () => {
    if (url.trim() !== '') assertNamesPage(url.trim())
    change({ url: url.trim(), flow: '', 'flow-from': '' })
    return ''
  }
  return (
    <Panel title="Why was this page removed?" place={place}>
      <Form label="Show purges" submit={show}>
        <Field label="URL or path of the page" type="search" value={url} set={setUrl} width="wide" />
      </Form>
      {asked === '' ? null : <Purges name="flow" what={question!} of={flow} />}
    </Panel>
  )
}

function EntityTimeline() {
  const { params, change } = useRoute()
  const entityType = params['entity'] ?? 'product'
  const { asked, text: id, setText: setId, place } = useQuestion('id')
  const looksLikeId = /^[0-9a-f-]{32,36}$/i.test(asked)
  const named = entityType === 'product' && !looksLikeId ? { entityNumber: asked } : { entityId: asked }
  const timeline = useResource<History>(
    asked === '' ? null : 'vendor-cache/reverse-proxy-log/entity-timeline',
    { entityType, ...named, limit: 1000 },
    5000,
  )
  const show = async () => {
    change({ id: id.trim(), timeline: '', 'timeline-from': '' })
    return ''
  }
  return (
    <Panel title="What did this record purge?" place={place}>
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
      {asked === '' ? null : <Purges name="timeline" what={`${entityType} ${asked}`} of={timeline} />}
    </Panel>
  )
}

/** The latest purges of a page or a record, oldest first. */
interface History {
  items: readonly PurgeItem[]
  total: number
}

function Purges({ name, what, of }: { name: string; what: string; of: Resource<History> }) {
  const list = useList(name)
  return (
    <Known of={of}>
      {({ items, total }) => {
        const found = pick(list, items.toReversed(), textOf)
        const most = items.length < total ? `: the newest ${formatCount(items.length)} of ${formatCount(total)}` : ''
        return (
          <>
            <LocalSearch list={list} count={items.length} label="Key, source or actor contains" />
            <PurgeTable
              caption={`Purges of ${what}, newest first${most}`}
              items={found}
              part={list}
              isWhole={items.length === total}
              empty={list.search === '' ? 'No purges.' : 'Nothing matches.'}
            />
            <LocalPager list={list} total={found.length} />
          </>
        )
      }}
    </Known>
  )
}
