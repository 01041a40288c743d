import { decoded, exchange, type Answer } from '../../test/helpers/exchange.ts'
import type { Coding, Contender } from '../lib/contenders.ts'
import type { FastShop } from '../lib/fast-shop.ts'
import { load } from '../lib/wrk.ts'

/** One shape of request and what the right response to it looks like. */
export interface Sample {
  path: string
  coding: Coding
  headers: Readonly<Record<string, string>>
  method?: 'GET' | 'HEAD' | 'POST'
  /** Sent with POST. */
  body?: string
  status: number
  /** Whether the response comes from the cache, and the shop is not asked. */
  hit: boolean
  /** The decoded body. */
  bytes: Buffer
}

/** wrk reports bytes per response; other headers than in the sample (an age, a date) change them a little. */
const tolerance = 0.15

/** Requests a sample once. Throws an error that names the difference where the response is not the right one. */
export async function check(contender: Contender, sample: Sample): Promise<Answer> {
  const { path, coding, method = 'GET', headers, body, status, bytes } = sample
  const length = body === undefined ? {} : { 'Content-Length': String(body.length) }
  const answer = await exchange(contender.url(path, coding), {
    method,
    headers: { ...headers, ...length },
    ...(body === undefined ? {} : { body }),
  })
  const got = answer.headers.get('content-encoding') ?? 'identity'
  const faults = [
    answer.status !== status && `status ${answer.status}`,
    answer.body.length > 0 && got !== coding && `coding ${got}`,
    answer.body.length !== 0 || bytes.length !== 0 ? !bytes.equals(decoded(answer)) && 'other bytes' : false,
    contender.name !== 'node' && fromCache(contender, answer) !== sample.hit && (sample.hit ? 'not a hit' : 'a hit'),
  ].filter((fault) => fault !== false)
  if (faults.length === 0) return answer
  throw new Error(`${contender.name}, ${method} ${path}: ${faults.join(', ')}\n${headOf(answer)}`)
}

/** Whether a response says that it comes from the cache. */
export function fromCache(contender: Contender, answer: Answer): boolean {
  return contender.hit.test(headOf(answer))
}

function headOf(answer: Answer): string {
  return [...answer.headers].map(([name, value]) => `${name}: ${value}\r\n`).join('')
}

/**
 * Loads a server with one shape of request and returns requests per second. A sample before and after, the size of the responses and the
 * number of requests that reach the shop tell whether that is what was measured.
 */
export async function rateOf(
  shop: FastShop,
  contender: Contender,
  sample: Sample,
  options: { connections: number; seconds: number },
): Promise<number> {
  const { answer, result, reached } = await loadSample(shop, contender, sample, options)
  const name = `${contender.name}, ${sample.path}`
  const [least, most] = sample.hit ? [0, 0] : [result.requests, result.requests + options.connections]
  if (contender.name !== 'node' && (reached < least || reached > most))
    throw new Error(`${name}: ${reached} of ${result.requests} requests reached the shop`)
  const size = headOf(answer).length + 'HTTP/1.1 200 OK\r\n\r\n'.length + answer.body.length
  if (Math.abs(result.bytesPerRequest - size) > tolerance * size)
    throw new Error(`${name}: ${Math.round(result.bytesPerRequest)} bytes per response instead of ${size}`)
  await check(contender, sample)
  return result.requestsPerSecond
}

async function loadSample(
  shop: FastShop,
  contender: Contender,
  sample: Sample,
  options: { connections: number; seconds: number },
) {
  const answer = await check(contender, sample)
  const asked = await shop.requests()
  const { headers, body } = sample
  const url = contender.url(sample.path, sample.coding)
  const result = await load({ url, headers, ...(body === undefined ? {} : { body }), ...options })
  return { answer, result, reached: (await shop.requests()) - asked }
}
