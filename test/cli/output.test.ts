import { expect, it } from 'vitest'
import { toFailure } from '../../src/cli/failure.ts'
import { Output } from '../../src/cli/output.ts'
import { PagecacheError } from '../../src/errors.ts'

function capture(isTTY: boolean, columns = 80) {
  let text = ''
  const output = new Output({ isTTY, columns, write: (chunk) => (text += chunk) })
  return { output, text: () => text }
}

it('a pipe gets full values between tabs', async () => {
  const { output, text } = capture(false)
  await output.table(
    ['name', 'size'],
    [
      ['a', 1],
      ['b', null],
    ],
  )
  output.pairs([['total', 2]])
  expect(text()).toBe('name\tsize\na\t1\nb\t-\ntotal: 2\n')
})

it('a terminal gets borders, and numbers to the right', async () => {
  const { output, text } = capture(true)
  await output.table(
    ['name', 'size'],
    [
      ['a', 1],
      ['b', 1000],
    ],
  )
  expect(text()).toContain('│ a    │    1 │')
})

it('a terminal that is too narrow for a table gets a line for each value', async () => {
  const rows = [
    ['a', 1],
    ['b', null],
  ]
  const [wide, narrow] = [capture(true, 15), capture(true, 14)]
  await wide.output.table(['name', 'size'], rows)
  await narrow.output.table(['name', 'size'], rows)
  expect(
    Math.max(
      ...wide
        .text()
        .split('\n')
        .map((line) => line.length),
    ),
  ).toBe(15)
  expect(narrow.text()).toBe('name: a\nsize: 1\n\nname: b\nsize: -\n')
})

it.each([true, false])('text from outside cannot steer the terminal or break a row (terminal: %s)', async (isTTY) => {
  const { output, text } = capture(isTTY)
  await output.table(['url'], [['http://a/\u001b[2J\u202e\t\nb']])
  output.line('x\u009by')
  expect(text()).toContain('http://a/\\u{1b}[2J\\u{202e}\\u{9}\\u{a}b')
  expect(text()).toContain('x\\u{9b}y')
})

it('an error of ours keeps its code, hint and exit code; anything else is a fault in the program', () => {
  const ours = new PagecacheError('NOT_FOUND', 'There is no such run.', { hint: 'See warmup:list.' })
  expect(toFailure(ours)).toEqual({
    message: 'There is no such run.',
    code: 'NOT_FOUND',
    hint: 'See warmup:list.',
    exit: 3,
    stack: null,
  })
  expect(toFailure(new TypeError('x is undefined'))).toMatchObject({
    code: 'UNEXPECTED',
    exit: 1,
    stack: expect.stringContaining('TypeError') as string,
  })
  expect(toFailure('thrown text')).toMatchObject({ message: 'thrown text', exit: 1 })
})
