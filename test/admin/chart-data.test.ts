import { expect, it } from 'vitest'
import { axisLabel, formatValue, incrementsOf, toData, topOf, type Unit } from '../../src/admin/chart-data.ts'

const at = [60, 120, 180, 240]
const hits = { name: 'Hits', values: [1, 2, 3, 0] }
const misses = { name: 'Misses', values: [10, null, 30, 0] }

it('draws nothing in the future, neither a line nor a bar', () => {
  expect(toData(at, [hits], false, 180)).toEqual([at, [1, 2, 3, null]])
  expect(toData(at, [hits], true, 179)).toEqual([at, [1, 2, null, null]])
})

it('stacks bars: the first line is the lowest and drawn last', () => {
  expect(toData(at, [hits, misses], true, 999)).toEqual([at, [11, 2, 33, 0], [1, 2, 3, 0]])
})

it('leaves gaps in a line where nothing was measured', () => {
  expect(toData(at, [misses], false, 999)).toEqual([at, [10, null, 30, 0]])
})

it.each(['count', 'bytes'] as const)('has whole numbers only on an axis of %s', (unit) => {
  const increments = incrementsOf(unit)
  expect(increments.every((increment) => Number.isInteger(increment))).toBe(true)
  expect(increments[0]).toBe(1)
  expect(increments).toEqual(increments.toSorted((a, b) => a - b))
})

it.each([
  ['count', null, 4],
  ['count', 0, 4],
  ['count', 1, 4],
  ['count', 100, 110],
  ['ratio', 0.3, 1],
  ['bytes', 3, 1024],
] as [Unit, number | null, number][])('an axis of %s up to %j ends at %d', (unit, highest, top) => {
  expect(topOf(unit, highest)).toBeCloseTo(top)
})

it.each([
  [2500, 'count', '2.5K', '2,500'],
  [3, 'count', '3', '3'],
  [0.25, 'ratio', '25 %', '25.0 %'],
  [2048, 'bytes', '2 KB', '2.00 KB'],
  [0.04, 'ms', '< 0.1 ms', '< 0.1 ms'],
  [0, 'ms', '0 ms', '0 ms'],
  [1_732_510, 'ms', '28 min 53 s', '28 min 53 s'],
] as [number, Unit, string, string][])('%d of %s is %s on the axis and %s in the table', (value, unit, label, text) => {
  expect([axisLabel(value, unit), formatValue(value, unit)]).toEqual([label, text])
})

it('says that nothing was measured', () => {
  expect(formatValue(null, 'ratio')).toBe('–')
})
