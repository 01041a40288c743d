import { discard } from '../body.ts'
import { toOriginError } from '../origin.ts'
import type { Answer } from '../visit.ts'

/** Reads the body of an answer into memory; null when it has more than `limit` bytes. @throws OriginError when it breaks off */
export async function bytesOf(body: Answer['body'], limit: number): Promise<Buffer | null> {
  if (body === null) return Buffer.alloc(0)
  if (Buffer.isBuffer(body)) return body.length <= limit ? body : null
  const pieces: Buffer[] = []
  let size = 0
  try {
    for await (const piece of 'pieces' in body ? body.pieces(() => {}) : (body as AsyncIterable<Buffer>)) {
      size += piece.length
      if (size > limit) return null
      // A piece of a stored body is valid until the next one only.
      pieces.push(Buffer.from(piece))
    }
  } catch (error) {
    throw toOriginError(error, true)
  } finally {
    if ('pieces' in body) body.discard()
    else discard(body)
  }
  return Buffer.concat(pieces)
}
