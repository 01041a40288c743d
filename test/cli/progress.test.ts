import { describe, expect, it } from 'vitest'
import { isDue, ProgressDisplay, toBar, toLine, type ProgressUpdate } from '../../src/cli/progress.ts'

const half: ProgressUpdate = {
  kind: 'advance',
  done: 60_000,
  total: 120_000,
  percentage: 50,
  perSecond: 78.4,
  etaSeconds: 769,
  failed: 64,
}
const at = (percentage: number): ProgressUpdate => ({
  kind: 'advance',
  done: percentage,
  total: 100,
  percentage,
  perSecond: 0,
  etaSeconds: null,
  failed: 0,
})

describe('a line', () => {
  it('shows progress, rate, ETA and failures', () => {
    expect(toLine(half, 20_000)).toBe('50.00 % (60,000/120,000), 78/s, ETA 12 min 49 s, 64 failed')
    expect(toLine(at(0), 0)).toBe('0.00 % (0/100)')
  })

  it('shows no ETA at the start', () => {
    const early: ProgressUpdate = { ...half, percentage: 2.99, perSecond: 7.84, failed: 0 }
    expect(toLine(early, 9_999)).toBe('2.99 % (60,000/120,000), 7.8/s')
    expect(toLine(early, 10_000)).toContain('ETA')
  })

  it('shows a pause at once', () => {
    const paused: ProgressUpdate = { ...half, paused: true }
    expect(toLine(paused, 20_000)).toBe('50.00 % (60,000/120,000), paused, 64 failed')
    expect(isDue({ progress: half, at: 1000 }, paused, 1001)).toBe(true)
    expect(isDue({ progress: paused, at: 1000 }, half, 1001)).toBe(true)
  })

  it('escapes control characters', () => {
    expect(toLine({ kind: 'text', text: 'a\u001b[2Jb' }, 0)).toBe('a\\u{1b}[2Jb')
  })

  it('is due at first, every 5 %, every 10 s, and when the kind changes', () => {
    const printed = { progress: at(12), at: 1000 }
    expect(isDue(null, at(0), 0)).toBe(true)
    expect(isDue(printed, at(14.99), 2000)).toBe(false)
    expect(isDue(printed, at(15), 2000)).toBe(true)
    expect(isDue(printed, at(12), 11_000)).toBe(true)
    expect(isDue({ progress: { kind: 'text', text: 'a' }, at: 1000 }, { kind: 'text', text: 'b' }, 2000)).toBe(false)
    expect(isDue({ progress: { kind: 'text', text: 'a' }, at: 1000 }, at(0), 1001)).toBe(true)
  })
})

describe('a bar', () => {
  it.each([100, 80, 60, 40, 12])('fits into %i columns', (columns) => {
    expect(toBar(half, 20_000, columns).length).toBeLessThanOrEqual(columns)
  })

  it('is filled in proportion to the progress', () => {
    expect(toBar(half, 20_000, 200)).toBe(
      `${'█'.repeat(20)}${'░'.repeat(20)}  50.00 %  60,000/120,000  78/s  ETA 12 min 49 s  64 failed`,
    )
    expect(toBar(at(100), 0, 200)).not.toContain('░')
    expect(toBar({ ...at(99.99) }, 0, 200)).toContain('░')
  })
})

describe('the display', () => {
  function display(animated: boolean) {
    const written: string[] = []
    let now = 0
    const shown = new ProgressDisplay({
      stream: { columns: 80, write: (text) => written.push(text) },
      animated,
      now: () => now,
    })
    return { shown, written, wait: (milliseconds: number) => (now += milliseconds) }
  }

  it('always prints the first and the last line without a terminal, and no control character', () => {
    const { shown, written, wait } = display(false)
    for (const percentage of [0, 1, 2, 3, 6, 7]) {
      shown.update(at(percentage))
      wait(250)
    }
    shown.end()
    shown.end()
    expect(written).toEqual(['0.00 % (0/100)\n', '6.00 % (6/100)\n', '7.00 % (7/100)\n'])
  })

  it('redraws one line on a terminal and keeps it at the end', () => {
    const { shown, written } = display(true)
    shown.update(at(1))
    shown.update(at(2))
    shown.end()
    expect(written.slice(0, 2).every((text) => text.startsWith('\r\u001b[2K') && !text.includes('\n'))).toBe(true)
    expect(written[2]).toBe('\n')
  })

  it('prints nothing without progress', () => {
    const { shown, written } = display(true)
    shown.end()
    expect(written).toEqual([])
  })
})
