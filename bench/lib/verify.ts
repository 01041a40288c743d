import { decoded, exchange } from '../../test/helpers/exchange.ts'
import type { Origin } from '../../test/helpers/origin.ts'
import type { Coding, Contender } from './contenders.ts'
import { samplePage } from './page.ts'

/**
 * Fetches the page into a contender's cache, then requests it twice more. Both responses must be hits in the measured coding, with
 * the page's bytes and without a request to the origin. Throws an error that names the difference.
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
              ? `not a hit: ${JSON.stringify([...answer.headers])}`
              : origin.hits() !== asked
                ? 'the origin got a request'
                : null
    if (fault !== null) throw new Error(`${contender.name}, ${coding}: ${fault}`)
  }
}
