import type { IncomingMessage } from 'node:http'

/**
 * The body of a request; null where it is larger than so many bytes, of which no more are read then. Rejects when the request
 * breaks off.
 */
export function readSmallBody(request: IncomingMessage, largest: number): Promise<Buffer | null> {
  if (Number(request.headers['content-length'] ?? 0) > largest) return Promise.resolve(null)
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = []
    let length = 0
    request.on('data', (chunk: Buffer) => {
      length += chunk.length
      if (length > largest) {
        request.pause()
        resolve(null)
      } else chunks.push(chunk)
    })
    request.on('end', () => resolve(chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks)))
    request.on('error', reject)
  })
}
