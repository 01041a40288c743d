import { parseCookies } from '../../cache/fields.ts'
import { toCustomerId } from '../../stages/track-request.ts'
import type { StageRequest, StagesOptions } from './request.ts'

/**
 * Who is logged in, as a proxy of ours or a token of the shop's says; never as the visitor does. Where a trusted proxy sends the header
 * it alone decides, an empty one too: it knows of a logout before the token ends.
 */
export function customerOf(request: StageRequest, options: StagesOptions): string | null | Promise<string | null> {
  const { customerHeader, isTrusted, customerTokens } = options
  const named = customerHeader === null ? null : request.field(customerHeader)
  if (named !== null && isTrusted(request.address)) return toCustomerId(named)
  const token = customerTokens === null ? null : tokenOf(request, options.customerToken)
  if (token === null) return null
  const customer = customerTokens!.read(token)
  return customer instanceof Promise
    ? customer.then((text) => text && toCustomerId(text))
    : customer && toCustomerId(customer)
}

function tokenOf(request: StageRequest, { cookie, header }: StagesOptions['customerToken']): string | null {
  if (cookie !== null) {
    const cookies = request.field('cookie')
    return cookies?.includes(cookie) ? (parseCookies(cookies).get(cookie) ?? null) : null
  }
  // Where it comes as Authorization it is a bearer token.
  return request.field(header!)?.replace(/^Bearer +/i, '') ?? null
}
