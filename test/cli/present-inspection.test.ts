import { expect, it } from 'vitest'
import { Output } from '../../src/cli/output.ts'
import { presentInspection } from '../../src/cli/present-inspection.ts'

it('shows a key of several lines in one', async () => {
  let text = ''
  const page = {
    key: '0190c0de http://a/\ncookie sw-currency=eur\nvisitor 1f',
    variant: '',
    tags: [],
    freshnessLeft: 9,
    age: 1,
  }
  const value = { url: 'http://a/', cached: true, reason: 'Fresh.', remedy: null, explanation: [], pages: [page] }
  await presentInspection(value as never, new Output({ write: (chunk: string) => (text += chunk) }))
  expect(text).toContain('key: 0190c0de http://a/; cookie sw-currency=eur; visitor 1f\n')
})
