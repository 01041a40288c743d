import type { Lease } from '../lib/byte-budget.ts'
import { transcoded } from '../pages/codec.ts'
import type { Encoding, Page } from '../pages/page.ts'
import type { OpenBody, PageStore } from '../pages/page-store.ts'
import { pieceSize } from '../pages/piece-digests.ts'
import { transcoderBytes, type SendingBudgets } from './in-flight.ts'
import type { ByteRange } from './range.ts'
import type { StreamedBody } from './visit.ts'

/**
 * A stored body, or a range of it, read from its file while it is sent. One piece at a time is in memory and charged to
 * the budget.
 */
class StoredBody implements StreamedBody {
  readonly #file: OpenBody
  readonly #leases: readonly Lease[]
  readonly #range: ByteRange
  readonly #buffer: Buffer
  #next: Buffer
  #open = true

  constructor(file: OpenBody, leases: readonly Lease[], range: ByteRange, first: Buffer, buffer: Buffer) {
    this.#file = file
    this.#leases = leases
    this.#range = range
    this.#buffer = buffer
    this.#next = first
  }

  async *pieces(cut: () => void): AsyncGenerator<Buffer> {
    const { start, end } = this.#range
    for (const lease of this.#leases) lease.onCut = cut
    try {
      for (let piece = pieceOf(start); ;) {
        const offset = piece * pieceSize
        yield this.#next.subarray(Math.max(0, start - offset), end - offset + 1)
        this.touch()
        if (piece === pieceOf(end)) return
        piece += 1
        this.#next = await this.#file.read(piece, this.#buffer)
      }
    } finally {
      this.discard()
    }
  }

  touch(): void {
    for (const lease of this.#leases) lease.touch()
  }

  discard(): void {
    if (!this.#open) return
    this.#open = false
    for (const lease of this.#leases) lease.release()
    void this.#file.close()
  }
}

/** A stored body that is transcoded while it is sent. */
class TranscodedBody implements StreamedBody {
  readonly #source: StoredBody
  readonly #from: Exclude<Encoding, 'identity'>
  readonly #to: Encoding

  constructor(source: StoredBody, from: Exclude<Encoding, 'identity'>, to: Encoding) {
    this.#source = source
    this.#from = from
    this.#to = to
  }

  async *pieces(cut: () => void): AsyncGenerator<Buffer> {
    try {
      for await (const piece of transcoded(copies(this.#source.pieces(cut)), this.#from, this.#to)) {
        yield piece
        this.#source.touch()
      }
    } finally {
      this.discard()
    }
  }

  discard(): void {
    this.#source.discard()
  }
}

/** Copies each piece, because the decoder reads ahead of the shared buffer. */
async function* copies(pieces: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  for await (const piece of pieces) yield Buffer.from(piece)
}

function pieceOf(byte: number): number {
  return Math.floor(byte / pieceSize)
}

export interface BodyRequest {
  encoding: Encoding
  /** Byte range of the stored body, only valid in the stored coding. Null: the whole body. */
  range: ByteRange | null
}

/**
 * Opens the body of a page as soon as the budget has room, and verifies its first piece before anything is sent. Null
 * when the body is unreadable or altered.
 */
export async function openStoredBody(
  store: PageStore,
  page: Page,
  wanted: BodyRequest,
  budgets: SendingBudgets,
): Promise<StreamedBody | null> {
  const range = wanted.range ?? { start: 0, end: page.size - 1 }
  const buffered = Math.min(pieceSize, page.size)
  const { encoding } = page
  // Transcoder first: a request that holds a piece must never wait for a transcoder (deadlock).
  const leases = wanted.encoding === encoding ? [] : [await budgets.transcoders.lease(transcoderBytes)]
  leases.push(await budgets.bodies.lease(buffered))
  const file = await store.openBody(page)
  const buffer = Buffer.allocUnsafeSlow(buffered)
  const first = (await file?.read(pieceOf(range.start), buffer).catch(() => null)) ?? null
  if (file === null || first === null) {
    for (const lease of leases) lease.release()
    await file?.close()
    return null
  }
  const body = new StoredBody(file, leases, range, first, buffer)
  return wanted.encoding === encoding || encoding === 'identity'
    ? body
    : new TranscodedBody(body, encoding, wanted.encoding)
}
