import type { Socket } from 'node:net'

/** The connector type of undici. */
type Connector<Options> = (options: Options, callback: (...outcome: [null, Socket] | [Error, null]) => void) => void

/** The error code of a connection reset on connections of `resetIsNoEnd`. */
export const resetByPeer = 'ECONNABORTED'

/**
 * Wraps a connector so that a body without a length ends only when the peer closes the connection (FIN). undici also
 * treats a reset, which it recognises by the code `ECONNRESET`, as the end of such a body, so that half a page would be
 * stored. This listener runs before undici's and replaces the code, which makes the reset an ordinary error.
 */
export function resetIsNoEnd<Options>(connect: Connector<Options>): Connector<Options> {
  return (options, callback) =>
    connect(options, (...outcome) => {
      outcome[1]?.prependListener('error', (error: NodeJS.ErrnoException) => {
        if (error.code === 'ECONNRESET') error.code = resetByPeer
      })
      callback(...outcome)
    })
}
