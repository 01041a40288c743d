import { pathOf, type HttpRoute } from '../operations/operation.ts'
import type { RemoteRequest } from './transport.ts'

/** Builds the request of an operation. Fields named in the path go there; the others go into the query of a GET or DELETE, or the body. */
export function toRequest(http: HttpRoute, input: Readonly<Record<string, unknown>>): RemoteRequest {
  const rest = new Map(Object.entries(input).filter(([, value]) => value !== undefined))
  const path = pathOf(http).replaceAll(/\{(\w+)\}/g, (_, name: string) => {
    const value = String(rest.get(name))
    rest.delete(name)
    return encodeURIComponent(value)
  })
  if (http.method === 'GET' || http.method === 'DELETE')
    return { method: http.method, path: path + queryOf(rest), headers: {}, body: null }
  return {
    method: http.method,
    path,
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(Object.fromEntries(rest)),
  }
}

function queryOf(fields: ReadonlyMap<string, unknown>): string {
  const query = new URLSearchParams()
  for (const [name, value] of fields) {
    // A query cannot express null.
    if (value === null) continue
    for (const item of Array.isArray(value) ? value : [value]) query.append(name, String(item))
  }
  return query.size === 0 ? '' : `?${query}`
}
