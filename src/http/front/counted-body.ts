import type { StreamedBody } from '../../cache/visit.ts'
import type { Answer } from '../answer.ts'

/** Returns a body that is counted while it is sent. */
export function countedBody<Body extends Answer['body']>(body: Body, record: { bytes: number }): Body | StreamedBody {
  if (body === null) return body
  if (typeof body === 'string' || Buffer.isBuffer(body)) record.bytes += Buffer.byteLength(body)
  else if ('pieces' in body) return new CountedPieces(body, record)
  else body.on('data', (piece: Buffer) => void (record.bytes += piece.length))
  return body
}

class CountedPieces implements StreamedBody {
  readonly #body: StreamedBody
  readonly #record: { bytes: number }

  constructor(body: StreamedBody, record: { bytes: number }) {
    this.#body = body
    this.#record = record
  }

  async *pieces(cut: () => void): AsyncGenerator<Buffer> {
    for await (const piece of this.#body.pieces(cut)) {
      this.#record.bytes += piece.length
      yield piece
    }
  }

  discard(): void {
    this.#body.discard()
  }
}
