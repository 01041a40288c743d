import { useState } from 'preact/hooks'
import { readableUrl } from '../lib/safe-text.ts'
import { Form } from './actions.tsx'
import type { Failures, WarmupList, WarmupWatch } from './answers.ts'
import { useApi } from './api-context.ts'
import { useChannels } from './channels.ts'
import { formatCounted } from './format.ts'
import { ChannelField, Field, Known, Panel, Time } from './parts.tsx'
import { useRoute } from './route.ts'
import { Pager, Table } from './table.tsx'
import { UrlActions } from './url-actions.tsx'
import { assertNamesPage } from './urls.ts'
import { useResource } from './use-resource.ts'
import { Progress } from './warmup-progress.tsx'

const portion = 25

export function WarmupView() {
  const { params, change } = useRoute()
  const chosen = params['run']
  const [offset, setOffset] = useState(0)
  const watch = useResource<WarmupWatch>('vendor-cache/warmup/watch', { progressId: chosen }, 1000)
  const list = useResource<WarmupList>('vendor-cache/warmup/list', { limit: portion, offset }, 5000)
  const shown = watch.value?.progress?.id
  const refresh = () => {
    watch.refresh()
    list.refresh()
  }
  const started = (run: string) => {
    change({ run })
    refresh()
  }
  return (
    <>
      <Start onStarted={started} />
      <Panel title="Progress">
        <Known of={watch}>
          {(value) =>
            value.progress ? (
              <Progress watch={value} progress={value.progress} onMoved={refresh} />
            ) : (
              <p class="empty">{chosen ? 'There is no such warmup.' : 'No warmup yet.'}</p>
            )
          }
        </Known>
      </Panel>
      {shown ? <FailureList key={shown} run={shown} /> : null}
      <Panel title="Runs">
        <Known of={list}>
          {({ items, total }) => (
            <>
              <Table
                caption="Warmup runs, newest first"
                head={['Started', 'State', 'URLs', 'Done', 'Failed', '']}
                rows={items.map((run) => [
                  <Time at={run.created_at} />,
                  <span class={`badge ${run.status}`}>{run.status}</span>,
                  run.total_urls,
                  { by: run.percentage, shown: `${run.percentage} %` },
                  run.failed_urls,
                  <button
                    type="button"
                    onClick={() => change({ run: run.id })}
                    aria-label={`Show the run ${run.id}`}
                    aria-pressed={run.id === shown}
                  >
                    Show
                  </button>,
                ])}
                keys={items.map((run) => run.id)}
                empty="No warmup yet."
              />
              <Pager offset={offset} portion={portion} total={total} set={setOffset} />
            </>
          )}
        </Known>
      </Panel>
    </>
  )
}

function FailureList({ run }: { run: string }) {
  const [offset, setOffset] = useState(0)
  const failures = useResource<Failures>(
    'vendor-cache/warmup/failures',
    { progressId: run, limit: portion, offset },
    3000,
  )
  return (
    <Panel title="Failures">
      <Known of={failures}>
        {({ items, total }) => (
          <>
            <Table
              caption="Failed URLs"
              head={['URL', 'Error', 'Attempts', 'Time', '']}
              rows={items.map((item) => [
                { by: item.url, shown: <code>{readableUrl(item.url)}</code> },
                item.error,
                item.attempts,
                { by: item.at, shown: <Time at={item.at} /> },
                <UrlActions url={item.url} purges={false} />,
              ])}
              keys={items.map((item) => item.url)}
              sort={total > items.length ? undefined : 'here'}
              empty="No failed URLs."
            />
            <Pager offset={offset} portion={portion} total={total} set={setOffset} />
          </>
        )}
      </Known>
    </Panel>
  )
}

const orders = [
  { value: 'priority', name: 'Priority in the sitemap' },
  { value: 'hits', name: 'Most visited first' },
]

const words = (text: string) => text.split(/\s+/).filter(Boolean)

function Start({ onStarted }: { onStarted(id: string): void }) {
  const api = useApi()
  const channels = useChannels()
  const [channel, setChannel] = useState('')
  const [urls, setUrls] = useState('')
  const [tags, setTags] = useState('')
  const [order, setOrder] = useState('priority')
  const [batchSize, setBatchSize] = useState('50')
  const start = async () => {
    const wanted = words(urls)
    const tagged = words(tags)
    wanted.forEach(assertNamesPage)
    const { progressId, totalUrls } = await api.post<{ progressId: string; totalUrls: number }>(
      'vendor-cache/warmup/start',
      {
        salesChannelId: channel === '' ? null : channel,
        batchSize: Number(batchSize),
        order,
        ...(wanted.length > 0 && { urls: wanted }),
        ...(tagged.length > 0 && { tags: tagged }),
      },
    )
    onStarted(progressId)
    return `Started with ${formatCounted(totalUrls, 'URL')}.`
  }
  if (!api.canWrite) return null
  return (
    <Panel title="Start a warmup">
      <Form label="Start" busy="Reading sitemaps …" submit={start} changes>
        <ChannelField channels={channels} value={channel} set={setChannel} />
        <Field
          label="URLs or paths, separated by spaces (empty: the sitemaps)"
          value={urls}
          set={setUrls}
          width="wide"
        />
        <Field label="Tags, separated by spaces (empty: pages with any tags)" value={tags} set={setTags} width="wide" />
        <Field label="Order" value={order} set={setOrder} list={orders} />
        <Field label="Batch size" type="number" value={batchSize} set={setBatchSize} />
      </Form>
    </Panel>
  )
}
