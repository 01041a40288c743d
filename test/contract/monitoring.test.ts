import { readFile } from 'node:fs/promises'
import { expect, it } from 'vitest'
import { parse } from 'yaml'
import { openMetrics } from '../../src/http/api/metrics.ts'
import { Traffic } from '../../src/traffic/traffic.ts'
import type { App } from '../../src/app.ts'
import { createStageCounts } from '../../src/stages/counts.ts'

/** The names of all exported metrics; collecting names does not use `app`. */
async function metricNames(): Promise<Set<string>> {
  const metrics = await openMetrics({
    app: () => ({}) as App,
    traffic: new Traffic(),
    stages: createStageCounts(),
    memory: () => ({ bytes: 0, pages: 0 }),
  })
  const { text } = await metrics.toText([await metrics.values()])
  return new Set([...text.matchAll(/^# TYPE (\w+)/gm)].map(([, name]) => name!))
}

/** Without the names of recording rules (`job:…:rate15m`). */
const namesIn = (text: string) =>
  new Set(
    [...text.matchAll(/(?<![:\w])(?:pagecache|process|nodejs)_\w*[a-z](?![\w*:])/g)].map(([name]) =>
      name.replace(/_(?:bucket|sum|count)$/, ''),
    ),
  )
const read = (file: string) => readFile(new URL(`../../docs/${file}`, import.meta.url), 'utf8')

interface Rule {
  alert?: string
  record?: string
  expr: string
  labels?: { severity?: string }
  annotations?: { summary?: string }
}

const rules = async () =>
  (parse(await read('alerts.yaml')) as { groups: { rules: Rule[] }[] }).groups.flatMap((group) => group.rules)

it('monitoring.md explains every pagecache metric, and no other', async () => {
  const ours = [...(await metricNames())].filter((name) => name.startsWith('pagecache_')).sort()
  expect([...namesIn(await read('monitoring.md'))].filter((name) => name.startsWith('pagecache_')).sort()).toEqual(ours)
})

it('the nodejs and process metrics in monitoring.md exist', async () => {
  const names = await metricNames()
  const others = [...namesIn(await read('monitoring.md'))].filter((name) => !name.startsWith('pagecache_'))
  expect(others.length).toBeGreaterThan(0)
  for (const name of others) expect(names).toContain(name)
})

it.each(['grafana.json', 'alerts.yaml'])('%s uses only existing metrics', async (file) => {
  const names = await metricNames()
  const expressions =
    file === 'grafana.json'
      ? (JSON.parse(await read(file)) as { panels: { targets?: { expr: string }[] }[] }).panels.flatMap(
          ({ targets = [] }) => targets.map(({ expr }) => expr),
        )
      : (await rules()).map(({ expr }) => expr)
  expect(expressions.length).toBeGreaterThan(10)
  for (const expression of expressions)
    for (const name of namesIn(expression)) expect(names, expression).toContain(name)
})

it('every pagecache metric is on the dashboard or in an alert', async () => {
  const used = namesIn(`${await read('grafana.json')}\n${await read('alerts.yaml')}`)
  expect([...(await metricNames())].filter((name) => name.startsWith('pagecache_') && !used.has(name))).toEqual([
    'pagecache_memory_pages',
  ])
})

it('every alert has a severity and a summary, and monitoring.md explains exactly these alerts', async () => {
  const alerts = (await rules()).filter(({ alert }) => alert !== undefined)
  for (const { alert, labels, annotations } of alerts) {
    expect(['critical', 'warning'], alert).toContain(labels?.severity)
    expect(annotations?.summary, alert).toMatch(/\S/)
  }
  const explained = [...(await read('monitoring.md')).matchAll(/`(Pagecache\w+)`/g)].map(([, name]) => name)
  expect(explained.toSorted()).toEqual(alerts.map(({ alert }) => alert).toSorted())
})

it('every alert is tested with a series that fires it and one that does not', async () => {
  const texts = await Promise.all(
    ['alerts.test.yaml', 'alerts-day.test.yaml'].map((file) => readFile(new URL(file, import.meta.url), 'utf8')),
  )
  const asked = texts.flatMap((text) =>
    (parse(text) as { tests: { alert_rule_test: { alertname: string; exp_alerts?: unknown[] }[] }[] }).tests.flatMap(
      (each) => each.alert_rule_test,
    ),
  )
  const names = (await rules()).flatMap(({ alert }) => alert ?? [])
  const those = (fires: boolean) =>
    [
      ...new Set(
        asked.filter(({ exp_alerts = [] }) => exp_alerts.length > 0 === fires).map(({ alertname }) => alertname),
      ),
    ].toSorted()
  expect(those(true)).toEqual(names.toSorted())
  expect(those(false)).toEqual(names.toSorted())
})
