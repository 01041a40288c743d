import type { Socket } from 'node:net'

/** As undici has it. */
type Connector<Options> = (options: Options, callback: (...outcome: [null, Socket] | [Error, null]) => void) => void

/** The code that a reset by the other side has once a connector of `resetIsNoEnd` has opened the connection. */
export const resetByPeer = 'ECONNABORTED'

/**
 * A connector whose connections end a body only where the other side has closed them (FIN). undici takes a body that lasts until the end
 * of its connection for whole where that is reset, too: it recognises a reset by the code `ECONNRESET`. Half a page would be stored as a
 * page. The listener comes before undici's and gives the error another code, so that it is an error like all others.
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
