import { discard } from '../body.ts'
import { toOriginError } from '../origin.ts'
import type { CacheAnswer } from '../visit.ts'
import type { Allowance } from './allowance.ts'

/** For texts that are counted already, or that are needed whatever they take. */
export const unlimited = { takeBytes: () => true, charge: () => {} }

/** Reads the body of an answer into memory; null when it is larger than allowed. @throws OriginError when it breaks off */
export async function bytesOf(
  body: CacheAnswer['body'],
  allowance: Pick<Allowance, 'takeBytes' | 'charge'>,
): Promise<Buffer | null> {
  if (body === null) return Buffer.alloc(0)
  if (Buffer.isBuffer(body)) return allowance.takeBytes(body.length) ? body : null
  const pieces: Buffer[] = []
  let size = 0
  try {
    for await (const piece of 'pieces' in body ? body.pieces(() => {}) : (body as AsyncIterable<Buffer>)) {
      if (!allowance.takeBytes(piece.length)) {
        allowance.charge(-size)
        return null
      }
      size += piece.length
      // A piece of a stored body is valid until the next one only.
      pieces.push(Buffer.from(piece))
    }
  } catch (error) {
    // Its `alt`, and the other fragments, may take them.
    allowance.charge(-size)
    throw toOriginError(error, true)
  } finally {
    if ('pieces' in body) body.discard()
    else discard(body)
  }
  return Buffer.concat(pieces)
}
