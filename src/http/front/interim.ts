import type { Socket } from 'node:net'
import { visibleHeaders } from '../../cache/forward.ts'
import { withoutSetCookie } from '../../cache/set-cookie.ts'
import type { HeaderPair } from '../../pages/page.ts'
import { renderHead } from './render.ts'

/**
 * Forwards an interim response (1xx) of the shop. A visitor who does not read gets none: nothing holds the shop back
 * before the final response, so they would pile up in memory. The cache decides about cookies by the final response.
 */
export function sendInterim(socket: Socket, status: number, headers: readonly HeaderPair[]): void {
  if (socket.writableLength === 0)
    socket.write(renderHead(status, withoutSetCookie(visibleHeaders({ status, headers }))))
}
