import { expect, it } from 'vitest'
import { SilenceDetector } from '../../src/queue/silence.ts'

it('a worker is silent when its heartbeat has not changed for fifteen seconds of watching', () => {
  const silence = new SilenceDetector()
  expect(
    silence.observe(
      [
        { id: 'a', beat: 1 },
        { id: 'b', beat: 9 },
      ],
      1000,
    ),
  ).toEqual([])
  expect(
    silence.observe(
      [
        { id: 'a', beat: 1 },
        { id: 'b', beat: 10 },
      ],
      15_999,
    ),
  ).toEqual([])
  expect(
    silence.observe(
      [
        { id: 'a', beat: 1 },
        { id: 'b', beat: 10 },
      ],
      16_000,
    ),
  ).toEqual(['a'])
})

it('a watcher that was suspended starts over', () => {
  const silence = new SilenceDetector()
  silence.observe([{ id: 'a', beat: 1 }], 0)
  silence.forget()
  expect(silence.observe([{ id: 'a', beat: 1 }], 60_000)).toEqual([])
  expect(silence.observe([{ id: 'a', beat: 1 }], 75_000)).toEqual(['a'])
})

it('a worker that left is forgotten with its heartbeat', () => {
  const silence = new SilenceDetector()
  silence.observe([{ id: 'a', beat: 1 }], 0)
  silence.observe([], 1000)
  expect(silence.observe([{ id: 'a', beat: 1 }], 20_000)).toEqual([])
})
