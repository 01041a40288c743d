import { setTimeout as sleep } from 'node:timers/promises'
import { until } from '../helpers/until.ts'
import { warmed, type SentEvents } from './guests.ts'
import { host, missing, pages } from './pages.ts'
import { toSeen, visit } from './readers.ts'
import type { Run } from './run.ts'
import { rows } from './servers.ts'
import { markOf } from './writers.ts'

/** What a run was to show, and what speaks against it. */
export interface Finding {
  claim: string
  faults: readonly string[]
}

/** Mends everything, and waits until each node serves each page from its cache. */
export async function settle(run: Run): Promise<void> {
  const { servers } = run
  for (const machine of servers.machines) {
    await machine.postgres.set('open')
    await machine.redis.set('open')
    if (machine.daemon === null && machine.name !== 'four') await servers.start(machine)
  }
  await servers.toVarnish.set('open')
  for (const { name, daemon } of servers.machines)
    if (daemon !== null)
      for (const { path } of pages)
        await until(async () => /; hit(?!.*unconfirmed)/.test((await visit(run, name, path))?.how ?? ''))
}

/** Every purge that was answered is in the log, is carried out, and has reached Varnish. */
export async function judgePurges(run: Run): Promise<Finding[]> {
  const { oracle, servers } = run
  const open = () =>
    rows<{ row: string }>(
      servers,
      `select row_to_json(i)::text as row from invalidations i where intent is not null or trace is not null
       union all select row_to_json(d)::text from purge_deliveries d where status <> 'delivered'`,
    )
  const left = await settled(async () => (await open()).map(({ row }) => `not carried out or not delivered: ${row}`))
  const log = await rows<
    Record<'id' | 'scope' | 'deliveries' | 'purges', string> & Record<'value' | 'unconfirmed', string | null>
  >(
    servers,
    `select i.id, i.scope, i.value, count(p.id) as purges, count(d.purge_id) as deliveries,
     string_agg(p.unconfirmed, ' ') as unconfirmed from invalidations i
     left join purges p on p.invalidation_id = i.id left join purge_deliveries d on d.purge_id = p.id group by i.id`,
  )
  const byRow = new Map(log.map((row) => [Number(row.id), row]))
  const marked = (number: number) => log.find(({ value }) => value?.split(/[\s,]+/).includes(markOf(number)))
  const answered = oracle.purges.filter(({ unconfirmed }) => unconfirmed !== null)
  const lost = answered.flatMap(({ number, scope, row, unconfirmed }) => {
    if (scope === 'type' || scope === 'all') return []
    const found = row === null ? marked(number) : byRow.get(row)
    if (found === undefined) return [`purge ${number} (${scope}) was answered and is not in the log`]
    const isNamed = unconfirmed!.every((node) => found.unconfirmed?.includes(node))
    return isNamed && found.deliveries === found.purges && found.purges !== '0'
      ? []
      : [`purge ${number}: ${JSON.stringify(found)}`]
  })
  for (const scope of ['type', 'all']) {
    const [sent, mine] = [oracle.purges, answered].map((all) => all.filter((purge) => purge.scope === scope).length)
    const logged = log.filter((row) => row.scope === scope).length
    if (logged < mine! || logged > sent!)
      lost.push(`${logged} purges of scope ${scope} are in the log: ${mine} of ${sent} were answered`)
  }
  return [
    { claim: 'no answered purge is lost, and the log names the nodes that its answer named', faults: lost },
    { claim: 'every purge is carried out and delivered to Varnish', faults: [...left, ...(await judgeVarnish(run))] },
  ]
}

/** Once all purges are delivered, Varnish has no page from before either. */
async function judgeVarnish({ oracle, clients }: Run): Promise<string[]> {
  const found = await Promise.all(
    pages.map(async ({ path }) => {
      const answered = oracle.expect(path)
      const { version } = toSeen(
        path,
        'varnish',
        await clients.get('varnish')!.ask(path, { headers: { host }, timeout: 60_000 }),
      )
      const least = Math.max(0, ...answered.map(({ versions }) => versions.get(path)!))
      return version !== null && version >= least ? [] : [`Varnish answers version ${version} of ${path}, not ${least}`]
    }),
  )
  return found.flat()
}

export async function judgeEvents({ servers }: Run, { acknowledged, sent }: SentEvents): Promise<Finding> {
  const stored = (await rows<{ url: string }>(servers, 'select request_url as url from vendor_stage_event')).map(
    ({ url }) => url,
  )
  const known = new Set(stored)
  const faults = acknowledged.filter((url) => !known.has(url)).map((url) => `${url} was acknowledged and is lost`)
  if (known.size !== stored.length) faults.push(`${stored.length - known.size} events are stored twice`)
  const [{ sum } = { sum: '0' }] = await rows<{ sum: string }>(
    servers,
    'select sum(impression + cta_click + close + permanent_dismiss) as sum from vendor_stage_rollup',
  )
  if (Number(sum) !== stored.length)
    faults.push(`the sums count ${sum} events, and ${stored.length} of ${sent} are stored`)
  return { claim: 'no acknowledged event is lost, and the sums are exact', faults }
}

export async function judgeWarmups({ servers }: Run, started: readonly string[]): Promise<Finding> {
  const read = () =>
    rows<
      Record<'id' | 'status' | 'total_urls' | 'checked_urls' | 'processed_urls' | 'failed_urls' | 'failures', string>
    >(
      servers,
      `select r.*, (select string_agg(f.url || ' ' || f.error, ', ') from warmup_failures f where f.run_id = r.id) as failures
       from warmup_runs r`,
    )
  const faults = await settled(async () => {
    const runs = await read()
    const lost = started.filter((id) => !runs.some((run) => run.id === id))
    const wrong = runs.filter((run) => {
      const counts = [run.total_urls, run.checked_urls, run.processed_urls, run.failed_urls].map(Number)
      const expected = [warmed.length, warmed.length, warmed.length - 1, 1]
      return (
        run.status !== 'completed' ||
        counts.join() !== expected.join() ||
        run.failures !== `http://${host}${missing} answered 404`
      )
    })
    return [...lost.map((id) => `warmup ${id} is lost`), ...wrong.map((run) => JSON.stringify(run))]
  })
  return { claim: 'the counts of all warmups are exact', faults }
}

/** How long the work that is left may take, in milliseconds: a worker that was killed is replaced, a proxy that was away tried again. */
const patience = 120_000

/** The faults that are still there after a while. */
async function settled(look: () => Promise<string[]>): Promise<string[]> {
  for (const began = performance.now(); ;) {
    const faults = await look()
    if (faults.length === 0 || performance.now() - began > patience) return faults
    await sleep(200)
  }
}
