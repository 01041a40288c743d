import { useState } from 'preact/hooks'
import type { Inspection, PageList } from './answers.ts'
import { formatBytes, formatCount, formatTime } from './format.ts'
import { Field, Known, Panel, Table, useRested } from './parts.tsx'
import { useResource } from './use-resource.ts'

const types = ['', 'products', 'categories', 'cms', 'listings', 'buybox']

export function PagesView() {
  const [type, setType] = useState('')
  const [tag, setTag] = useState('')
  const [prefix, setPrefix] = useState('')
  const pages = useResource<PageList>(
    'vendor-cache/pages',
    { type, tag: useRested(tag.trim()), prefix: useRested(prefix.trim()), limit: 50 },
    5000,
  )
  return (
    <>
      <Inspect />
      <Panel title="Cached pages">
        <div class="row">
          <Field label="Type" value={type} set={setType} list={types} />
          <Field label="Tag" value={tag} set={setTag} />
          <Field label="URL begins with" value={prefix} set={setPrefix} width="wide" />
        </div>
        <Known of={pages}>
          {({ items, total }) => (
            <>
              <p class="soft">
                {formatCount(total)} pages{total > items.length ? `, the first ${items.length}` : ''}
              </p>
              <Table
                caption="Cached pages"
                head={['URL', 'Type', 'State', 'Hits', 'Size', 'Stored']}
                rows={items.map((page) => [
                  <code>{page.url}</code>,
                  page.type,
                  page.state,
                  page.hits,
                  formatBytes(page.size),
                  formatTime(page.storedAt),
                ])}
                empty="No pages."
              />
            </>
          )}
        </Known>
      </Panel>
    </>
  )
}

function Inspect() {
  const [url, setUrl] = useState('')
  const asked = useRested(url.trim())
  const inspection = useResource<Inspection>(asked === '' ? null : 'vendor-cache/pages/inspect', { url: asked }, 5000)
  return (
    <Panel title="Is this page cached?">
      <Field label="URL of the page" value={url} set={setUrl} width="wide" />
      {asked === '' ? null : (
        <Known of={inspection}>
          {({ cached, reason, explanation, pages }) => (
            <>
              <p>
                <span class={`badge ${cached ? 'completed' : 'paused'}`}>{cached ? 'cached' : 'not cached'}</span>{' '}
                {reason}
              </p>
              <ul>
                {explanation.map((line) => (
                  <li key={line}>{line}</li>
                ))}
              </ul>
              <Table
                caption="Stored variants"
                head={['Variant', 'State', 'Fresh for', 'Hits', 'Tags']}
                rows={pages.map((page) => [
                  <code>{page.key}</code>,
                  page.state,
                  `${Math.round(page.freshnessLeft)} s`,
                  page.hits,
                  <code>{page.tags.join(' ')}</code>,
                ])}
                empty="Nothing."
              />
            </>
          )}
        </Known>
      )}
    </Panel>
  )
}
