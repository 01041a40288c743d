import { request } from 'node:http'
import { gunzipSync } from 'node:zlib'
import type { Origin } from '../../test/helpers/origin.ts'
import type { Coding, Contender } from './contenders.ts'
import { samplePage } from './page.ts'

/**
 * Brings the page into a contender's cache, then asks twice more: the answers must be hits in the coding
 * that is measured, with the page's bytes, and cost the origin nothing. Throws with what was wrong.
 */
export async function verifyHit(contender: Contender, coding: Coding, headers: Record<string, string>, origin: Origin): Promise<void> {
  await get(contender.url(coding), headers)
  const asked = origin.hits()
  for (let round = 0; round < 2; round++) {
    const answer = await get(contender.url(coding), headers)
    const got = answer.headers.get('content-encoding') ?? 'identity'
    const fault =
      answer.status !== 200 ? `status ${answer.status}`
      : got !== coding ? `coding ${got}`
      : !samplePage().identity.equals(coding === 'gzip' ? gunzipSync(answer.body) : answer.body) ? 'other bytes'
      : !contender.saysHit(answer.headers) ? `no hit: ${JSON.stringify([...answer.headers])}`
      : origin.hits() !== asked ? 'the origin was asked'
      : null
    if (fault !== null) throw new Error(`${contender.name}, ${coding}: ${fault}`)
  }
}

/** node:http and not fetch, which adds headers of its own and decompresses. */
async function get(url: string, headers: Record<string, string>): Promise<{ status: number; headers: Headers; body: Buffer }> {
  return await new Promise((resolve, reject) => {
    const outgoing = request(url, { headers, agent: false }, (incoming) => {
      const chunks: Buffer[] = []
      incoming.on('data', (chunk: Buffer) => chunks.push(chunk))
      incoming.on('error', reject)
      incoming.on('end', () => {
        const pairs = Object.entries(incoming.headers).map(([name, value]): [string, string] => [name, String(value)])
        resolve({ status: incoming.statusCode ?? 0, headers: new Headers(pairs), body: Buffer.concat(chunks) })
      })
    })
    outgoing.on('error', reject)
    outgoing.end()
  })
}
