import * as cache from './cache.ts'
import type { Operation } from './operation.ts'

/** Every operation there is: what the HTTP API, the remote client and the OpenAPI document are made from. */
export const operations: readonly Operation[] = [...Object.values(cache)] as readonly Operation[]
