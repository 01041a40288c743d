import type { Socket } from 'node:net'
import { withoutFields } from '../../cache/fields.ts'
import { visibleHeaders } from '../../cache/forward.ts'
import type { HeaderPair } from '../../pages/page.ts'
import { renderHead } from './render.ts'

/** An interim response has no body (RFC 9110 §8.6), and the cache decides about cookies by the final response. */
const dropped: ReadonlySet<string> = new Set(['content-length', 'set-cookie'])

/**
 * Forwards an interim response (1xx) of the shop. A visitor who does not read gets none: nothing holds the shop back
 * before the final response, so they would pile up in memory.
 */
export function sendInterim(socket: Socket, status: number, headers: readonly HeaderPair[]): void {
  if (socket.writableLength === 0) socket.write(renderHead(status, withoutFields(visibleHeaders(headers), dropped)))
}
