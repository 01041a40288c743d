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

it('computes a result once per text', () => {
  const { asked, upper } = counted()
  expect([upper('a'), upper('é€'), upper('a'), upper('é€')]).toEqual(['A', 'É€', 'A', 'É€'])
  expect(asked).toEqual(['a', 'é€'])
})

it('remembers null', () => {
  let asked = 0
  const none = remembering(() => {
    asked += 1
    return null
  })
  expect([none('a'), none('a')]).toEqual([null, null])
  expect(asked).toBe(1)
})

it('forgets texts that are long, and all of them when there are too many', () => {
  const { asked, upper } = counted()
  const long = 'a'.repeat(257)
  upper(long)
  upper(long)
  expect(asked).toHaveLength(2)
  for (let n = 0; n < 600; n++) upper(`text ${n}`)
  upper('text 599')
  expect(asked).toHaveLength(602)
  upper('text 0')
  expect(asked).toHaveLength(603)
})
