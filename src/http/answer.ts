import type { CacheAnswer } from '../cache/visit.ts'
import type { HeaderPair } from '../pages/page.ts'

/** A response: a page from the cache or the shop, or a text made by the daemon. `send` writes it. */
export interface Answer extends Omit<CacheAnswer, 'body'> {
  body: string | CacheAnswer['body']
  /** The reason phrase; without it the usual one of the status. */
  reason?: string
}

/** An answer whose whole body is in memory. */
export type WholeAnswer = Answer & { body: string | Buffer }

/** A JSON value that no cache may store. */
export function jsonAnswer(status: number, value: unknown, headers: readonly HeaderPair[] = []): WholeAnswer {
  return textAnswer(status, 'application/json', JSON.stringify(value), headers)
}

/** An error of the API: `{success: false, message}`. */
export function errorAnswer(status: number, message: string, headers: readonly HeaderPair[] = []): WholeAnswer {
  return jsonAnswer(status, { success: false, message }, headers)
}

/** 405 with the methods that are allowed. */
export function methodNotAllowed(method: string | undefined, allow: string): WholeAnswer {
  return errorAnswer(405, `${method} is not allowed here.`, [['Allow', allow]])
}

/** A text that no cache may store. */
export function textAnswer(
  status: number,
  type: string,
  body: string,
  headers: readonly HeaderPair[] = [],
): WholeAnswer {
  return {
    status,
    headers: [
      ['Content-Type', type],
      ['Cache-Control', 'no-store'],
      ['Content-Length', String(Buffer.byteLength(body))],
      ...headers,
    ],
    body,
  }
}
