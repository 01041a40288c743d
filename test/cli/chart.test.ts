import { describe, expect, it } from 'vitest'
import { drawChart } from '../../src/cli/chart.ts'

const points = (values: number[]) => values.map((value, index) => ({ label: `d${index}`, value }))

describe('a chart', () => {
  it('has a scale, and its first and last label', () => {
    expect(drawChart(points([0, 1, 8, 16]), { width: 24, height: 2 })).toEqual([
      ' 16 ┤            ███',
      '  0 ┤    ▁▁▁ ███ ███',
      '     d0            d3',
    ])
  })

  it('merges points to fit its width', () => {
    const lines = drawChart(points(Array(1000).fill(1)), { width: 60, height: 3 })
    for (const line of lines) expect(line.length).toBeLessThanOrEqual(60)
    expect(lines[0]).toMatch(/^ 19 ┤█{52}/)
  })

  it('shows small values, and zero as empty', () => {
    expect(drawChart(points([1, 1000, 0]), { width: 30, height: 1 })[0]).toMatch(/^ 1000 ┤▁+ █+ *$/)
    expect(drawChart(points([0, 0]), { width: 30, height: 1 })[0]).toBe(' 0 ┤')
    expect(drawChart([], { width: 30, height: 1 })).toEqual([])
  })
})
