import { readFile } from 'node:fs/promises'
import { expect, test } from 'vitest'
import { parse } from 'yaml'
import { openMetrics } from '../../src/http/metrics.ts'
import { Traffic } from '../../src/http/traffic.ts'
import type { App } from '../../src/app.ts'
import { createStageCounts } from '../../src/stages/counts.ts'

/** Names that are told; `app` is not asked for names. */
async function told(): Promise<Set<string>> {
  const metrics = await openMetrics({ app: () => ({}) as App, traffic: new Traffic(), stages: createStageCounts(), memory: () => ({ bytes: 0, pages: 0 }) })
  const { text } = await metrics.toText([await metrics.values()])
  return new Set([...text.matchAll(/^# TYPE (\w+)/gm)].map(([, name]) => name!))
}

const namesIn = (text: string) => new Set([...text.matchAll(/\b(?:pagecache|process|nodejs)_\w*[a-z](?![\w*])/g)].map(([name]) => name.replace(/_(?:bucket|sum|count)$/, '')))
const read = (file: string) => readFile(new URL(`../../docs/${file}`, import.meta.url), 'utf8')

test('every metric of ours is explained, and only those that there are', async () => {
  const ours = [...(await told())].filter(name => name.startsWith('pagecache_')).sort()
  expect([...namesIn(await read('monitoring.md'))].filter(name => name.startsWith('pagecache_')).sort()).toEqual(ours)
})

test.each(['grafana.json', 'alerts.yaml'])('%s asks for metrics that there are', async file => {
  const names = await told()
  const text = await read(file)
  const expressions = file === 'grafana.json'
    ? (JSON.parse(text) as { panels: { targets: { expr: string }[] }[] }).panels.flatMap(({ targets }) => targets.map(({ expr }) => expr))
    : (parse(text) as { groups: { rules: { expr: string }[] }[] }).groups.flatMap(({ rules }) => rules.map(({ expr }) => expr))
  expect(expressions.length).toBeGreaterThan(10)
  for (const expression of expressions) for (const name of namesIn(expression)) expect(names, expression).toContain(name)
})
