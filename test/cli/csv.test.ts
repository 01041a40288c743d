import { expect, it } from 'vitest'
import { toCsv } from '../../src/cli/list.ts'

it('cells are quoted where they have to be; formulas are text, control characters escaped, nothing is empty', async () => {
  expect(
    await toCsv([
      ['url', 'status'],
      ['http://a/?a="1",2', 404],
      ['=HYPERLINK("http://evil")', null],
    ]),
  ).toBe('url,status\n"http://a/?a=""1"",2",404\n"\'=HYPERLINK(""http://evil"")",\n')
  expect(await toCsv([['a\u001b[31m\nb']])).not.toMatch(/\u001b/)
})
