import type { IncomingMessage } from 'node:http'
import { H3Event, type H3, type Middleware } from 'h3'
import type { Identity } from '../../auth/judgement.ts'
import type { OwnPath } from '../../cache/own-path.ts'
import { errorAnswer, methodNotAllowed, type Answer } from '../answer.ts'
import type { Reply } from '../front/front-options.ts'
import type { Accepted } from '../front/guard.ts'

/** One request to an endpoint of the daemon, as `front` hands it over. */
export interface Exchange {
  request: IncomingMessage
  reply: Reply
  accepted: Accepted
  place: OwnPath
  /** Null for a URL without a query. */
  query: URLSearchParams | null
}

declare module 'h3' {
  interface H3EventContext {
    exchange: Exchange
    /** The client, once `authenticate` has accepted its token. */
    caller?: Identity
  }
}

/** Answers a request; null where the request was answered already, or its client has gone. */
export type Handler = (event: H3Event) => Answer | null | Promise<Answer | null>

export type Method = 'GET' | 'POST' | 'PATCH' | 'DELETE'

/**
 * Adds the handlers of one path. GET answers HEAD too; any other method gets 405 with `Allow`.
 *
 * @param middleware runs before each handler; what it returns is the answer
 */
export function addRoutes(
  app: H3,
  path: string,
  handlers: Partial<Record<Method, Handler>>,
  middleware: Middleware[] = [],
): void {
  for (const [method, handler] of Object.entries(handlers) as [Method, Handler][]) {
    app.on(method, path, exact(handler), { middleware })
    if (method === 'GET') app.head(path, exact(handler), { middleware })
  }
  const allow = [...Object.keys(handlers), ...(handlers.GET === undefined ? [] : ['HEAD'])].join(', ')
  app.all(
    path,
    exact((event) => methodNotAllowed(event.req.method, allow)),
    { middleware },
  )
}

/** A handler for one path and no other: h3 also routes the path with a slash behind it. */
function exact(handler: Handler): Handler {
  return (event) => (event.url.pathname.endsWith('/') ? notFound() : handler(event))
}

/** 404 for a path without an endpoint. h3's own answer would contain the URL. */
export function notFound(): Answer {
  return errorAnswer(404, 'There is no such endpoint.')
}

/**
 * Makes an event of a request read by Node, to be routed by `H3.handler`. It has the method and the URL only: handlers read everything else
 * from `context.exchange`, and `send` writes the answer, so that no `Request`, `Headers` or `Response` is made for it
 * (docs/decisions/0061-every-endpoint-is-h3.md).
 */
export function toEvent(app: H3, exchange: Exchange): H3Event {
  const { accepted, place, request } = exchange
  const path = place.kind === 'stage' ? `/vendor-stage/${place.name}` : place.path
  const url = `${accepted.scheme}://${accepted.host}${path}`
  return new H3Event({ method: request.method!, url } as Request, { exchange }, app)
}

/** The decoded parameters of a route. A value with an invalid escape is kept unchanged; it names nothing that exists. */
export function paramsOf({ context }: H3Event): Record<string, string> {
  return Object.fromEntries(Object.entries(context.params ?? {}).map(([name, value]) => [name, decoded(value)]))
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}
