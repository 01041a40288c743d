import { parseCookies } from '../../cache/fields.ts'
import { toCustomerId } from '../../stages/track-request.ts'
import type { StageRequest, StagesOptions } from './request.ts'

/**
 * The id of the logged-in customer, from a trusted proxy's header or from a token of the shop; never from the visitor. If a trusted proxy
 * sends the header, it alone decides, even when empty: the proxy learns of a logout before the token expires.
 */
export function customerOf(request: StageRequest, options: StagesOptions): string | null | Promise<string | null> {
  const { customerHeader, isTrusted, customerTokens } = options
  const header = customerHeader === null ? null : request.field(customerHeader)
  if (header !== null && isTrusted(request.address)) return toCustomerId(header)
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
  // In `Authorization` it is a bearer token.
  return request.field(header!)?.replace(/^Bearer +/i, '') ?? null
}
