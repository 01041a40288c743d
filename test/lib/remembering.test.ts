import { expect, it } from 'vitest'
import { remembering } from '../../src/lib/remembering.ts'

function counted() {
  const asked: string[] = []
  const upper = remembering((text) => {
    asked.push(text)
    return text.toUpperCase()
  })
  return { asked, upper }
}

it('remembers the result for a text that comes again', () => {
  const { asked, upper } = counted()
  const texts = ['a', 'é€', 'a', 'é€', 'a', 'é€']
  expect(texts.map(upper)).toEqual(['A', 'É€', 'A', 'É€', 'A', 'É€'])
  expect(asked).toEqual(['a', 'é€', 'a', 'é€'])
})

it('remembers null', () => {
  let asked = 0
  const none = remembering(() => {
    asked += 1
    return null
  })
  expect([none('a'), none('a'), none('a')]).toEqual([null, null, null])
  expect(asked).toBe(2)
})

it('keeps what it remembers when thousands of texts come once', () => {
  const { asked, upper } = counted()
  upper('common')
  upper('common')
  for (let n = 0; n < 5_000; n++) upper(`page ${n}`)
  asked.length = 0
  expect(upper('common')).toBe('COMMON')
  expect(asked).toEqual([])
})

it('computes long texts each time, and forgets all others when too many come again', () => {
  const { asked, upper } = counted()
  const long = 'a'.repeat(257)
  for (let n = 0; n < 3; n++) upper(long)
  expect(asked).toHaveLength(3)
  for (let n = 0; n < 600; n++) for (let time = 0; time < 2; time++) upper(`text ${n}`)
  asked.length = 0
  upper('text 599')
  expect(asked).toEqual([])
  upper('text 0')
  expect(asked).toEqual(['text 0'])
})
