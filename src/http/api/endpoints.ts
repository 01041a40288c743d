import { pathOf, type Operation } from '../../operations/operation.ts'

type HttpMethod = NonNullable<Operation['http']>['method']

/** One path of the API, with the operation of each method. */
export interface Endpoint {
  /** With `{name}` where a field of the input stands: `/api/_action/vendor-stage/stages/{id}`. */
  path: string
  byMethod: ReadonlyMap<HttpMethod, Operation>
  /** For the `Allow` field. */
  allow: string
}

/** An endpoint, and what stands in its path. */
export interface Found {
  endpoint: Endpoint
  params: Readonly<Record<string, string>>
}

/** The API as the operations describe it. */
export function endpointsOf(operations: readonly Operation[]): Endpoint[] {
  const published = operations.filter((operation) => operation.http !== undefined)
  return [...Map.groupBy(published, (operation) => pathOf(operation.http!))].map(([path, group]) => {
    const byMethod = new Map(group.map((operation) => [operation.http!.method, operation]))
    if (byMethod.size < group.length) throw new Error(`${path}: two operations with one method`)
    const methods: string[] = [...byMethod.keys()]
    return { path, byMethod, allow: [...methods, ...(byMethod.has('GET') ? ['HEAD'] : [])].join(', ') }
  })
}

/** Finds the endpoint of a path as it was sent; null where there is none. A path that is written out goes before one with a field in it. */
export function routerOf(endpoints: readonly Endpoint[]): (path: string) => Found | null {
  const exact = new Map(endpoints.map((endpoint) => [endpoint.path, { endpoint, params: {} }]))
  const patterns = endpoints
    .filter(({ path }) => path.includes('{'))
    .map((endpoint) => ({ endpoint, parts: endpoint.path.split('/') }))
  return (path) => {
    const found = exact.get(path)
    if (found !== undefined) return found
    const parts = path.split('/')
    for (const pattern of patterns) {
      const params = match(pattern.parts, parts)
      if (params !== null) return { endpoint: pattern.endpoint, params }
    }
    return null
  }
}

function match(pattern: readonly string[], parts: readonly string[]): Record<string, string> | null {
  if (pattern.length !== parts.length) return null
  const params: Record<string, string> = {}
  for (const [index, part] of pattern.entries()) {
    const value = parts[index]!
    if (!part.startsWith('{')) {
      if (part !== value) return null
    } else if (value === '') return null
    else params[part.slice(1, -1)] = decoded(value)
  }
  return params
}

/** What is broken stands for itself, and names nothing. */
function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

/** The operation that a request means; GET answers HEAD too. */
export function operationOf(endpoint: Endpoint, method: string): Operation | null {
  return endpoint.byMethod.get((method === 'HEAD' ? 'GET' : method) as HttpMethod) ?? null
}
