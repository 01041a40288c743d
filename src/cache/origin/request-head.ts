import type { HeaderPair } from '../../pages/page.ts'
import { OriginError } from './error.ts'
import type { ExchangeRequest } from './exchange.ts'

/** Each line of a request is checked, so that nothing in it can make the shop see another request. */
const requestLine = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+ [!-~\x80-\xff]+$/
const fieldLine = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+: [\t\x20-\x7e\x80-\xff]*$/

/** Fields that this client sets itself: from a caller they could make the shop see another request. */
const own = new Set(['connection', 'keep-alive', 'transfer-encoding', 'upgrade', 'te', 'trailer', 'expect'])

/** Methods whose requests have a body, so that an empty one is announced (RFC 9110 §8.6). */
const withBody = new Set(['POST', 'PUT', 'PATCH'])

/** A request head as bytes in Latin-1, and the length of the body: null for one in chunks. */
export interface RequestHead {
  text: string
  length: number | null
}

/** @throws OriginError for a request that cannot be written as HTTP/1.1, or whose body has another length */
export function renderRequest({ method, target, headers, body, memo }: ExchangeRequest, host: string): RequestHead {
  if (!requestLine.test(`${method} ${target}`)) throw invalid('request line')
  const render = () => renderFields(headers, host)
  const { text, announced } = memo?.of('rendered', [headers, host], render) ?? render()
  const length = lengthOf(body, announced)
  let framing = ''
  if (length === null) framing = 'transfer-encoding: chunked\r\n'
  else if (announced === null && (length > 0 || withBody.has(method))) framing = `content-length: ${length}\r\n`
  return { text: `${method} ${target} HTTP/1.1\r\n${text}${framing}connection: keep-alive\r\n\r\n`, length }
}

/** The field lines of a request. `announced`: the value of its Content-Length. @throws OriginError for an invalid field */
function renderFields(headers: readonly HeaderPair[], host: string): { text: string; announced: number | null } {
  let announced: number | null = null
  let named = false
  let text = ''
  for (const [name, value] of headers) {
    const line = `${name}: ${value}`
    if (!fieldLine.test(line)) throw invalid('header field')
    const lower = name.toLowerCase()
    if (lower === 'content-length') {
      if (announced !== null || !/^\d{1,15}$/.test(value)) throw invalid('Content-Length')
      announced = Number(value)
    } else if (lower === 'host') {
      if (named) throw invalid('Host')
      named = true
      // First, as RFC 9110 §7.2 recommends.
      text = `${line}\r\n${text}`
      continue
    } else if (own.has(lower)) throw invalid(name)
    text += `${line}\r\n`
  }
  return { text: named ? text : `host: ${host}\r\n${text}`, announced }
}

function lengthOf(body: ExchangeRequest['body'], announced: number | null): number | null {
  if (body === 'stream') return announced
  const length = body?.length ?? 0
  // The shop would take the next request on the connection for the missing part of the body.
  if (announced !== null && announced !== length) throw invalid('Content-Length')
  return length
}

function invalid(part: string): OriginError {
  return new OriginError(`the request cannot be sent to the shop: invalid ${part}`, 'unreachable')
}
