import type { IncomingMessage } from 'node:http'
import { watchBody } from './front/slow-body.ts'

/** `slow`: it comes so slowly that it only holds a connection. `gone`: the client has gone in the midst of it. */
export type Unread = 'too large' | 'slow' | 'gone'

/** The body of a request of at most `largest` bytes; nothing more is read of what turns out to be larger. */
export function readSmallBody(request: IncomingMessage, largest: number): Promise<Buffer | Unread> {
  if (Number(request.headers['content-length'] ?? 0) > largest) return Promise.resolve('too large')
  return new Promise((resolve) => {
    const chunks: Buffer[] = []
    let length = 0
    const end = (result: Buffer | Unread) => {
      clearImmediate(late)
      resolve(result)
    }
    // Nearly every body comes with its head, and needs no timer.
    const late = setImmediate(() => watchBody(request, () => end('slow')))
    request.on('data', (chunk: Buffer) => {
      length += chunk.length
      if (length <= largest) return void chunks.push(chunk)
      request.pause()
      end('too large')
    })
    request.on('end', () => end(chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks)))
    request.on('error', () => end('gone'))
  })
}
