import type { Lease } from '../lib/byte-budget.ts'
import { transcoded } from '../pages/codec.ts'
import type { Encoding, Page } from '../pages/page.ts'
import type { OpenBody, PageStore } from '../pages/page-store.ts'
import { pieceSize } from '../pages/piece-digests.ts'
import { transcoderBytes, type SendingBudgets } from './in-flight.ts'
import type { ByteRange } from './range.ts'
import type { StreamedBody } from './visit.ts'

/**
 * A part of a stored body, or all of it, read from its file while it is sent: one piece is in memory at a time, and counts against
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

/** A stored body that is sent in another coding than it is stored in. */
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

/** The decoder reads ahead. */
async function* copies(pieces: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  for await (const piece of pieces) yield Buffer.from(piece)
}

function pieceOf(byte: number): number {
  return Math.floor(byte / pieceSize)
}

export interface Wanted {
  encoding: Encoding
  /** Bytes of the body as stored; for the stored coding alone. Null: all of it. */
  range: ByteRange | null
}

/**
 * Opens the body of a page when the budget has room for it. Its first piece is verified before anything is sent.
 * Null where it cannot be read, or is altered.
 */
export async function openStoredBody(
  store: PageStore,
  page: Page,
  wanted: Wanted,
  budgets: SendingBudgets,
): Promise<StreamedBody | null> {
  const range = wanted.range ?? { start: 0, end: page.size - 1 }
  const buffered = Math.min(pieceSize, page.size)
  const { encoding } = page
  // In this order: who has a piece never waits for a transcoder.
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
