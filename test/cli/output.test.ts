import { expect, it } from 'vitest'
import { toFailure } from '../../src/cli/failure.ts'
import { Output } from '../../src/cli/output.ts'
import { PagecacheError } from '../../src/errors.ts'

function capture(isTTY: boolean, columns = 80) {
  let text = ''
  const output = new Output({ isTTY, columns, write: (chunk) => (text += chunk) })
  return { output, text: () => text }
}

it('prints full values between tabs in a pipe', async () => {
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

it('wraps long values beneath their beginning on a terminal, at spaces only', () => {
  const { output, text } = capture(true, 30)
  output.pairs([
    ['state', 'running since the day before'],
    ['url', `http://shop.example/${'x'.repeat(30)} and more`],
  ])
  output.prose('A sentence of more than thirty characters.')
  expect(text().split('\n')).toEqual([
    'state:  running since the day',
    '        before',
    `url:    http://shop.example/${'x'.repeat(30)}`,
    '        and more',
    'A sentence of more than thirty',
    'characters.',
    '',
  ])
})

it('wraps and aligns wide letters and emoji by their cells', async () => {
  const { output, text } = capture(true, 30)
  const names = ['夏のセール', '冬のセール', '🎁🎁', 'Étés']
  expect(output.wrap(names.join(' '))).toEqual(['夏のセール 冬のセール 🎁🎁', 'Étés'])
  output.pairs([
    ['夏', names.slice(0, 2).join(' ')],
    ['name', 'é'],
  ])
  await output.hanging('夏: ', names.join(' '))
  expect(text().split('\n')).toEqual([
    '夏:    夏のセール 冬のセール',
    'name:  é',
    '夏: 夏のセール 冬のセール 🎁🎁',
    '    Étés',
    '',
  ])
})

it('prints borders on a terminal and aligns numbers to the right', async () => {
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

it('prints a line for each value if the table is wider than the terminal', async () => {
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

it('counts two cells for emoji when it measures a table', async () => {
  const { output, text } = capture(true, 15)
  await output.table(['name', 'size'], [['✅⚡❌', 1]])
  expect(text()).toBe('name: ✅⚡❌\nsize: 1\n')
})

it('wraps text after a label on a terminal only', async () => {
  const [terminal, pipe] = [capture(true, 26), capture(false)]
  for (const { output } of [terminal, pipe]) await output.hanging('warn  ', 'disk: 90 % of the space is used')
  expect(terminal.text()).toBe('warn  disk: 90 % of the\n      space is used\n')
  expect(pipe.text()).toBe('warn  disk: 90 % of the space is used\n')
})

it('separates thousands of pairs on a terminal only', () => {
  const [terminal, pipe] = [capture(true), capture(false)]
  for (const { output } of [terminal, pipe]) output.pairs([['pages', 14_756]])
  expect([terminal.text(), pipe.text()]).toEqual(['pages:  14,756\n', 'pages: 14756\n'])
})

it('puts text below a label that leaves fewer than 20 cells', async () => {
  const { output, text } = capture(true, 30)
  await output.hanging('--server  ', 'Run on the daemon at this URL.')
  await output.hanging('--server <url>  ', 'Run on the daemon at this URL.')
  expect(text().split('\n')).toEqual([
    '--server  Run on the daemon at',
    '          this URL.',
    '--server <url>',
    '    Run on the daemon at this',
    '    URL.',
    '',
  ])
})

it('says how long a list is if it is longer than shown, on a terminal', () => {
  const [terminal, pipe] = [capture(true), capture(false)]
  for (const { output } of [terminal, pipe]) output.more(50, 120, 'page')
  terminal.output.more(2, 2, 'page')
  terminal.output.more(1000, 14_756, 'page')
  const hint = 'Show more with --limit and --offset.'
  expect(terminal.text()).toBe(`50 of 120 pages. ${hint}\n1,000 of 14,756 pages. ${hint}\n`)
  expect(pipe.text()).toBe('')
})

it.each([true, false])('escapes control characters in values (terminal: %s)', async (isTTY) => {
  const { output, text } = capture(isTTY)
  await output.table(['url'], [['http://a/\u001b[2J\u202e\t\nb']])
  output.line('x\u009by')
  expect(text()).toContain('http://a/\\u{1b}[2J\\u{202e}\\u{9}\\u{a}b')
  expect(text()).toContain('x\\u{9b}y')
})

it('keeps code, hint and exit code of a PagecacheError; any other error is a bug', () => {
  const known = new PagecacheError('NOT_FOUND', 'There is no such run.', { hint: 'See warmup:list.' })
  expect(toFailure(known)).toEqual({
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

it('wraps each line of a text by itself, and keeps its indent', () => {
  const { output } = capture(true, 24)
  expect(output.wrap('Two settings are wrong:\n  server.port: expected a number')).toEqual([
    'Two settings are wrong:',
    '  server.port: expected',
    'a number',
  ])
  expect(capture(false).output.wrap('one\ntwo '.repeat(20))).toHaveLength(1)
})
