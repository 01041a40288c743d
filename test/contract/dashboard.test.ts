import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'

interface Panel {
  id: number
  type: string
  title: string
  description?: string
  datasource?: object
  gridPos: { x: number; y: number; w: number; h: number }
  fieldConfig?: { defaults: { unit?: string } }
  options?: { legend?: { showLegend?: boolean } }
  targets?: { refId: string; expr: string; legendFormat?: string; datasource?: object }[]
}

const dashboard = JSON.parse(readFileSync(new URL('../../docs/grafana.json', import.meta.url), 'utf8')) as {
  id?: number
  uid: string
  schemaVersion: number
  templating: {
    list: { name: string; type: string; query: string | { query: string }; datasource?: object; current?: object }[]
  }
  panels: Panel[]
}
const variables = dashboard.templating.list.map(({ name }) => name)
const graphs = dashboard.panels.filter(({ type }) => type !== 'row')
/** The data source is a variable, so an import works whatever the Prometheus is called. */
const chosen = { type: 'prometheus', uid: '${datasource}' }

describe('docs/grafana.json', () => {
  it('can be imported anywhere: no number of another Grafana, no data source of one, a schema that Grafana 10 to 12 know', () => {
    expect(dashboard).not.toHaveProperty('id')
    expect(dashboard).not.toHaveProperty('__inputs')
    expect(dashboard.uid).toMatch(/^[a-z0-9-]{8,40}$/)
    // 41 came with Grafana 12; all of them migrate what is older, and none leaves out what is in 39.
    expect(dashboard.schemaVersion).toBe(39)
    expect(dashboard.templating.list).toMatchObject([
      { name: 'datasource', type: 'datasource', query: 'prometheus' },
      { name: 'job', type: 'query', datasource: chosen },
    ])
    for (const variable of dashboard.templating.list) expect(variable).not.toHaveProperty('current')
  })

  it('no two panels have one number or one title', () => {
    const ids = dashboard.panels.map(({ id }) => id)
    const titles = dashboard.panels.map(({ title }) => title)
    expect(new Set(ids).size).toBe(ids.length)
    expect(new Set(titles).size).toBe(titles.length)
  })

  it('no panel overlaps another or exceeds the grid of 24 columns', () => {
    const taken = new Map<string, string>()
    for (const {
      title,
      gridPos: { x, y, w, h },
    } of dashboard.panels) {
      expect(x >= 0 && y >= 0 && w > 0 && h > 0 && x + w <= 24, title).toBe(true)
      for (let column = x; column < x + w; column += 1) {
        for (let line = y; line < y + h; line += 1) {
          expect(taken.get(`${column} ${line}`), title).toBeUndefined()
          taken.set(`${column} ${line}`, title)
        }
      }
    }
  })

  it.each(graphs.map((panel) => [panel.title, panel] as const))(
    '%s says what it shows, in what unit, and from where',
    (_, panel) => {
      expect(['stat', 'timeseries']).toContain(panel.type)
      expect(panel.title).not.toBe('')
      expect(panel.description).toMatch(/^\S.+/)
      expect(panel.datasource).toEqual(chosen)
      expect(panel.fieldConfig!.defaults.unit).toMatch(/^(?:percentunit|reqps|ops|short|bytes|s)$/)
      if (panel.type === 'timeseries') expect(panel.options!.legend!.showLegend).toBe(true)
      expect(panel.targets!.map(({ refId }) => refId)).toEqual(['A', 'B', 'C', 'D'].slice(0, panel.targets!.length))
      for (const { expr, legendFormat, datasource } of panel.targets!) {
        expect(datasource).toEqual(chosen)
        expect(legendFormat).toMatch(/\S/)
        // Each metric is that of the job that was chosen, and nothing is asked for that no variable stands for.
        for (const [selector] of expr.matchAll(/\b(?:pagecache|process|nodejs)_\w+(?:\{[^}]*\})?/g))
          expect(selector).toContain('job="$job"')
        for (const [, name] of expr.matchAll(/\$(\w+)/g)) expect([...variables, '__rate_interval']).toContain(name)
      }
    },
  )
})
