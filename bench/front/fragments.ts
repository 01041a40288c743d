import { processorTime } from '../lib/cores.ts'
import { composed } from '../lib/fast-shop.ts'
import { rateOf, type Sample } from './sample.ts'
import { cached, hit, type Arrangement, type Shape } from './shape.ts'

/** Hits on pages with fragments, against hits on plain pages of the same daemon. */
export function fragmentShapes(arrangement: Arrangement): Shape[] {
  return [whole(arrangement, 'gzip'), whole(arrangement, 'identity')]
}

function whole({ shop, connections, seconds }: Arrangement, coding: 'gzip' | 'identity'): Shape {
  const plain = hit(coding)
  const made = hit(coding, { path: `${composed}shoes` })
  return {
    name: `hit, ${coding}, page with fragments`,
    unit: '× plain',
    rivals: [],
    goal: { atLeast: 0.95 },
    config: { cache: { esi: 'auto' } },
    async prepare(contender) {
      for (const sample of [plain, made]) {
        await cached(contender, sample)
        await rateOf(shop, contender, sample, { connections, seconds: 1 })
      }
    },
    async measure(contender) {
      // Requests per second of the daemon's own processor time, in turns: other load on the machine affects both alike.
      const rates = { plain: 0, made: 0 }
      const rate = async (sample: Sample) => {
        const before = processorTime(contender.pid!)
        const requests = (await rateOf(shop, contender, sample, { connections, seconds })) * seconds
        return requests / (processorTime(contender.pid!) - before)
      }
      rates.plain += await rate(plain)
      rates.made += await rate(made)
      rates.made += await rate(made)
      rates.plain += await rate(plain)
      return { value: rates.made / rates.plain, note: `${Math.round(rates.plain / 2)} → ${Math.round(rates.made / 2)}` }
    },
  }
}
