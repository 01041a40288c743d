import { describe, expect, it } from 'vitest'
import { afterFailure, circuitState, closed, waitFor } from '../../../src/purge/deliver/circuit.ts'
import { planDelivery, type Pending } from '../../../src/purge/deliver/plan.ts'

const rows = (...list: [kind: Pending['kind'], key: string | null, soft?: boolean][]): Pending[] =>
  list.map(([kind, key, soft = false], index) => ({ id: index + 1, kind, key, soft, attempts: 0 }))

describe('the plan of a delivery', () => {
  it('is empty without purges', () => expect(planDelivery([])).toEqual([]))

  it('puts at most fifty tags in a request, each tag once', () => {
    const steps = planDelivery(
      rows(...Array.from({ length: 120 }, (_, index) => ['tag', `t${index % 101}`] as ['tag', string])),
    )
    expect(steps.map((step) => (step.kind === 'tags' ? step.tags.length : step.kind))).toEqual([50, 50, 1])
    expect(steps.flatMap((step) => (step.kind === 'everything' ? [] : step.ids)).toSorted((a, b) => a - b)).toEqual(
      Array.from({ length: 120 }, (_, index) => index + 1),
    )
  })

  it('keeps header lines below the limit of Varnish', () => {
    const steps = planDelivery(
      rows(...Array.from({ length: 50 }, (_, index) => ['tag', `${index}-${'a'.repeat(1000)}`] as ['tag', string])),
    )
    expect(steps.length).toBeGreaterThan(6)
    for (const step of steps) expect(step.kind === 'tags' && step.tags.join(' ').length).toBeLessThan(8000)
  })

  it('separates soft and hard purges', () => {
    expect(planDelivery(rows(['tag', 'a'], ['entity', 'b', true], ['tag', 'a', true]))).toEqual([
      { kind: 'tags', tags: ['a'], soft: false, ids: [1] },
      { kind: 'tags', tags: ['b', 'a'], soft: true, ids: [2, 3] },
    ])
  })

  it('sends a URL with its Host', () => {
    expect(planDelivery(rows(['url', 'https://shop.example/p?a=1'], ['url', 'http://shop.example:8080/']))).toEqual([
      { kind: 'url', host: 'shop.example', path: '/p?a=1', ids: [1] },
      { kind: 'url', host: 'shop.example:8080', path: '/', ids: [2] },
    ])
  })

  it.each([
    ['all', null],
    ['type', 'products'],
    ['url', 'no url'],
  ] as const)('%s becomes everything and replaces all others', (kind, key) => {
    expect(planDelivery(rows(['tag', 'a'], [kind, key], ['url', 'http://shop.example/']))).toEqual([
      { kind: 'everything' },
    ])
  })

  it.each(['/detail/.*', '/detail/[0-9]+$', '/a\\.html', '/(a|b)/c'])('%s is sent unchanged', (pattern) => {
    expect(planDelivery(rows(['pattern', pattern]))).toEqual([{ kind: 'pattern', pattern, ids: [1] }])
  })

  // A backtracking engine may give up on these, which would leave the pages cached.
  it.each(['/(a+)+$', '/.*.*.*x', '/(?:a|b)*', 'blog', '/a b', '/\\pL', `/${'a'.repeat(2000)}`, '/'])(
    '%s becomes everything',
    (pattern) => {
      expect(planDelivery(rows(['pattern', pattern]))).toEqual([{ kind: 'everything' }])
    },
  )
})

describe('the circuit', () => {
  it('waits longer after each failure, up to a minute, with jitter', () => {
    let circuit = closed
    const waits: number[] = []
    for (let attempt = 0; attempt < 12; attempt++) {
      circuit = afterFailure(circuit, 1000, 0.5)
      waits.push(waitFor(circuit, 1000))
    }
    expect(waits.slice(0, 4)).toEqual([500, 1000, 2000, 4000])
    expect(waits.at(-1)).toBe(60_000)
    expect(waitFor(afterFailure(closed, 0, 0), 0)).toBe(375)
    expect(waitFor(afterFailure(closed, 0, 0.999), 0)).toBe(625)
  })

  it('is half-open after the wait', () => {
    const circuit = afterFailure(closed, 1000, 0.5)
    expect([circuitState(closed, 0), circuitState(circuit, 1000), circuitState(circuit, 1500)]).toEqual([
      'closed',
      'open',
      'half-open',
    ])
  })

  it('does not wait for a time that is distant because the clock was set back', () => {
    expect(waitFor(afterFailure(closed, 10 * 3_600_000, 0.5), 0)).toBe(0)
  })
})
