import { useState } from 'preact/hooks'
import { Form } from './actions.tsx'
import type { WarmupFailure, WarmupFailures, WarmupItem, WarmupWatch } from './answers.ts'
import { useApi } from './api-context.ts'
import { useChannels } from './channels.ts'
import { formatCounted } from './format.ts'
import { ListSearch, Pager, useList } from './list.tsx'
import { usePortion } from './log.tsx'
import { ChannelField, Field, Known, Panel, Time } from './parts.tsx'
import { useRoute } from './route.ts'
import { Table } from './table.tsx'
import { Copy, UrlActions } from './url-actions.tsx'
import { assertNamesPage } from './urls.ts'
import { useResource } from './use-resource.ts'
import { Key } from './words.tsx'
import { Progress } from './warmup-progress.tsx'

export function WarmupView() {
  const { params, change } = useRoute()
  const chosen = params['run']
  const list = useList('runs')
  const watch = useResource<WarmupWatch>('vendor-cache/warmup/watch', { progressId: chosen }, 1000)
  const runs = usePortion<WarmupItem>('vendor-cache/warmup/list', list, 5000, { status: params['state'] })
  const shown = watch.value?.progress?.id
  const refresh = () => {
    watch.refresh()
    runs.refresh()
  }
  const started = (run: string) => {
    change({ run, ...firstFailures })
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
        <div class="row">
          <Field
            label="State"
            value={params['state'] ?? ''}
            set={(state) => change({ state, 'runs-from': '' })}
            list={states}
          />
        </div>
        <Known of={runs}>
          {({ items, total }) => (
            <>
              <Runs
                items={items}
                isWhole={items.length === total}
                shown={shown}
                empty={params['state'] ? `No warmup is ${params['state']}.` : 'No warmup yet.'}
              />
              <Pager list={list} total={total} />
            </>
          )}
        </Known>
      </Panel>
    </>
  )
}

function Runs({
  items,
  isWhole,
  shown,
  empty,
}: {
  items: readonly WarmupItem[]
  isWhole: boolean
  shown: string | undefined
  empty: string
}) {
  const { change } = useRoute()
  const channels = useChannels()
  const nameOf = (id: string | null) => channels.find((channel) => channel.id === id)?.name ?? id ?? 'all'
  return (
    <Table
      caption="Warmup runs, newest first"
      head={['Started', 'State', 'Sales channel', 'URLs', 'Done', 'Failed', '']}
      rows={items.map((run) => [
        { by: run.created_at, shown: <Time at={run.created_at} /> },
        { by: run.status, shown: <span class={`badge ${run.status}`}>{run.status}</span> },
        nameOf(run.sales_channel_id),
        run.total_urls,
        { by: run.percentage, shown: `${run.percentage} %` },
        run.failed_urls,
        <span class="row-actions">
          <button
            type="button"
            onClick={() => change({ run: run.id, ...firstFailures })}
            aria-label={`Show the run ${run.id}`}
            aria-pressed={run.id === shown}
          >
            Show
          </button>
          <Copy text={run.id} />
        </span>,
      ])}
      keys={items.map((run) => run.id)}
      sort="here"
      isWhole={isWhole}
      empty={empty}
    />
  )
}

/** A newly selected run begins with its first failures. */
const firstFailures = { failures: '', 'failures-from': '', reason: '' }

function FailureList({ run }: { run: string }) {
  const { params, change } = useRoute()
  const list = useList('failures')
  const reason = params['reason'] ?? ''
  const failures = usePortion<WarmupFailure, Pick<WarmupFailures, 'reasons'>>(
    'vendor-cache/warmup/failures',
    list,
    3000,
    { progressId: run, url: list.search, error: reason },
  )
  return (
    <Panel title="Failures">
      <Known of={failures}>
        {({ items, total, reasons }) => (
          <>
            {reasons.length === 0 ? null : (
              <>
                <Reasons of={reasons} />
                <ListSearch list={list} label="URL contains">
                  <Field
                    label="Reason"
                    value={reason}
                    set={(error) => change({ reason: error, 'failures-from': '' })}
                    list={[{ value: '', name: 'All reasons' }, ...reasons.map(({ error }) => error.slice(0, 200))]}
                  />
                </ListSearch>
              </>
            )}
            <Table
              caption="Failed URLs"
              head={['URL', 'Error', 'Attempts', 'Time', '']}
              rows={items.map((item) => [
                { by: item.url, shown: <Key text={item.url} /> },
                item.error,
                item.attempts,
                { by: item.at, shown: <Time at={item.at} /> },
                <UrlActions url={item.url} />,
              ])}
              keys={items.map((item) => `${item.url} ${item.variant}`)}
              sort="here"
              isWhole={items.length === total}
              empty={reasons.length === 0 ? 'No failed URLs.' : 'Nothing matches.'}
            />
            <Pager list={list} total={total} />
          </>
        )}
      </Known>
    </Panel>
  )
}

/** The most frequent reasons, and what to do about them. */
function Reasons({ of }: { of: WarmupFailures['reasons'] }) {
  if (of.length === 1 && of[0]!.remedy === null) return null
  return (
    <Table
      caption="Reasons of failures"
      head={['Reason', 'URLs', 'What to do']}
      rows={of.map(({ error, count, remedy }) => [error, count, remedy ?? '–'])}
      keys={of.map(({ error }) => error)}
      sort="here"
      empty=""
    />
  )
}

const states = [
  { value: '', name: 'All states' },
  ...['running', 'paused', 'completed', 'cancelled', 'failed'].map((state) => ({ value: state, name: state })),
]

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
