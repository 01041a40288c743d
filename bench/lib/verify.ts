import { decoded, exchange } from '../../test/helpers/exchange.ts'
import type { Origin } from '../../test/helpers/origin.ts'
import type { Coding, Contender } from './contenders.ts'
import { samplePage } from './page.ts'

/**
 * Brings the page into a contender's cache, then asks twice more: the answers must be hits in the coding
 * that is measured, with the page's bytes, and cost the origin nothing. Throws with what was wrong.
 */
export async function verifyHit(
  contender: Contender,
  coding: Coding,
  headers: Record<string, string>,
  origin: Origin,
): Promise<void> {
  await exchange(contender.url(coding), { headers })
  const asked = origin.hits()
  for (let round = 0; round < 2; round++) {
    const answer = await exchange(contender.url(coding), { headers })
    const got = answer.headers.get('content-encoding') ?? 'identity'
    const fault =
      answer.status !== 200
        ? `status ${answer.status}`
        : got !== coding
          ? `coding ${got}`
          : !samplePage().identity.equals(decoded(answer))
            ? 'other bytes'
            : !contender.saysHit(answer.headers)
              ? `no hit: ${JSON.stringify([...answer.headers])}`
              : origin.hits() !== asked
                ? 'the origin was asked'
                : null
    if (fault !== null) throw new Error(`${contender.name}, ${coding}: ${fault}`)
  }
}
