import { expect, it } from 'vitest'
import { typesPanel } from '../../src/tui/tabs/overview/cache.ts'
import { lineWidth } from '../../src/tui/text/line.ts'
import { system } from './fake-system.ts'

it.each([51, 52, 60, 61, 120])('a row of page types fits into %i cells', (width) => {
  const { rows } = typesPanel(system()['cache.stats'] as never)
  expect(rows.map(({ line }) => lineWidth(line(width)) <= width)).not.toContain(false)
})
