import { expect, it } from 'vitest'
import { Output } from '../../src/cli/output.ts'
import { presentTransports } from '../../src/cli/present-messenger.ts'

it.each([60, 80])('shows failed messages in a table of %i columns', async (columns) => {
  let text = ''
  const stream = { isTTY: true, columns, write: (chunk: string) => (text += chunk) }
  // A failed message is in no other column.
  const none = { waiting: 0, delayed: 0, held: 0, oldestAge: null }
  const waiting = { name: 'async' as const, ...none, count: 7, waiting: 7, oldestAge: 86_340 }
  await presentTransports([waiting, { name: 'failed' as const, ...none, count: 1 }], new Output(stream))
  expect(text).toMatch(/Count/)
  expect(text).toMatch(/failed +│ +1 /)
  expect(text).toContain('23 h 59 min')
})
