import type { H3 } from 'h3'
import { jsonAnswer, type Answer } from '../answer.ts'
import type { ApiOptions } from './options.ts'
import { addRoutes } from './route.ts'

/** Adds the endpoints for monitors and load balancers. They need no token. */
export function addHealth(app: H3, options: Pick<ApiOptions, 'app' | 'isReady'>): void {
  addRoutes(app, '/healthz', { GET: () => jsonAnswer(200, { status: 'ok' }) })
  addRoutes(app, '/api/_info/health-check', { GET: () => empty })
  addRoutes(app, '/readyz', { GET: () => readiness(options) })
}

const empty: Answer = {
  status: 200,
  headers: [
    ['Cache-Control', 'no-store'],
    ['Content-Length', '0'],
  ],
  body: null,
}

async function readiness({ app, isReady }: Pick<ApiOptions, 'app' | 'isReady'>): Promise<Answer> {
  if (!isReady()) return jsonAnswer(503, { status: 'stopping' })
  const problem = await app.recordsProblem()
  if (problem === null) return jsonAnswer(200, { status: 'ready' })
  // All nodes lose their PostgreSQL at once: a load balancer that took them out would leave visitors without a shop.
  if (app.config.records.url !== null)
    return jsonAnswer(200, {
      status: 'degraded',
      code: problem.code,
      message: 'PostgreSQL cannot be used. Visitors are served; purges, events, warmups and the API are refused.',
    })
  return jsonAnswer(503, {
    status: 'records lost',
    message: 'The records were deleted or replaced while the daemon runs.',
  })
}
