import type { IncomingMessage } from 'node:http'
import { watchBody } from './slow-body.ts'

/**
 * The body of a request; null where it is larger than so many bytes, of which no more are read then. Rejects when the request
 * breaks off; `onStall` is called when it comes so slowly that it only holds a connection.
 */
export function readSmallBody(request: IncomingMessage, largest: number, onStall: () => void): Promise<Buffer | null> {
  if (Number(request.headers['content-length'] ?? 0) > largest) return Promise.resolve(null)
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = []
    let length = 0
    // Nearly every body comes with its head, and needs no timer.
    const late = setImmediate(() => watchBody(request, onStall))
    request.on('data', (chunk: Buffer) => {
      length += chunk.length
      if (length > largest) {
        request.pause()
        clearImmediate(late)
        resolve(null)
      } else chunks.push(chunk)
    })
    request.on('end', () => {
      clearImmediate(late)
      resolve(chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks))
    })
    request.on('error', reject)
  })
}
