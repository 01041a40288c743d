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

function readiness({ app, isReady }: Pick<ApiOptions, 'app' | 'isReady'>): Answer {
  if (!isReady()) return jsonAnswer(503, { status: 'stopping' })
  if (app.recordsFault() === null) return jsonAnswer(200, { status: 'ready' })
  return jsonAnswer(503, {
    status: 'records lost',
    message: 'The records were deleted or replaced while the daemon runs.',
  })
}
