import { pathOf, type Operation } from '../operations/operation.ts'

export type HttpMethod = NonNullable<Operation['http']>['method']

/** One path of the API, with the operation of each method. */
export interface Endpoint {
  /** As h3 writes it: `/api/_action/vendor-stage/stages/:id`. */
  route: string
  byMethod: ReadonlyMap<HttpMethod, Operation>
  /** For the `Allow` field. */
  allow: string
}

/** The API as the operations describe it. */
export function endpointsOf(operations: readonly Operation[]): Endpoint[] {
  const published = operations.filter((operation) => operation.http !== undefined)
  return [...Map.groupBy(published, (operation) => pathOf(operation.http!))].map(([path, group]) => {
    const byMethod = new Map(group.map((operation) => [operation.http!.method, operation]))
    if (byMethod.size < group.length) throw new Error(`${path}: two operations with one method`)
    const methods: string[] = [...byMethod.keys()]
    return { route: path.replaceAll(/\{(\w+)\}/g, ':$1'), byMethod, allow: [...methods, ...(byMethod.has('GET') ? ['HEAD'] : [])].join(', ') }
  })
}

/** The operation that a request means; GET answers HEAD too. */
export function operationOf(endpoint: Endpoint, method: string): Operation | null {
  return endpoint.byMethod.get((method === 'HEAD' ? 'GET' : method) as HttpMethod) ?? null
}
