import type { Lease } from '../lib/byte-budget.ts'
import type { Encoding, Page } from '../pages/page.ts'
import type { PageStore } from '../pages/page-store.ts'
import { pieceSize } from '../pages/piece-digests.ts'
import type { SendingBudgets } from './in-flight.ts'
import type { ByteRange } from './range.ts'
import type { Transcodes } from './transcodes.ts'
import type { StreamedBody } from './visit.ts'

/** Reads a body in pieces. Null: the body ends before the piece. */
interface Source {
  read(piece: number, into: Buffer): Promise<Buffer | null>
  close?(): Promise<void>
}

/**
 * A stored body, or a range of it, read from its file while it is sent. One piece at a time is in memory and charged to
 * the budget.
 */
class StoredBody implements StreamedBody {
  readonly #file: Source
  readonly #leases: readonly Lease[]
  readonly #range: ByteRange
  readonly #buffer: Buffer
  #next: Buffer
  #open = true

  constructor(file: Source, leases: readonly Lease[], range: ByteRange, first: Buffer, buffer: Buffer) {
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
        for (const lease of this.#leases) lease.touch()
        if (piece === pieceOf(end)) return
        piece += 1
        const next = await this.#file.read(piece, this.#buffer)
        if (next === null) return
        this.#next = next
      }
    } finally {
      this.discard()
    }
  }

  discard(): void {
    if (!this.#open) return
    this.#open = false
    for (const lease of this.#leases) lease.release()
    void this.#file.close?.()
  }
}

function pieceOf(byte: number): number {
  return Math.floor(byte / pieceSize)
}

export interface BodyRequest {
  encoding: Encoding
  /** Byte range of the stored body, only valid in the stored coding. Null: the whole body. */
  range: ByteRange | null
}

interface Parts {
  store: PageStore
  budgets: SendingBudgets
  transcodes: Transcodes
}

/**
 * Opens the body of a page as soon as the budget has room, and verifies its first piece before anything is sent. Null
 * when the body is unreadable or altered.
 */
export async function openStoredBody(
  { store, budgets, transcodes }: Parts,
  page: Page,
  { encoding, range }: BodyRequest,
): Promise<StreamedBody | null> {
  const isStored = encoding === page.encoding || page.encoding === 'identity'
  // A reader that waits for a transcoder holds no memory.
  const share = isStored ? null : await transcodes.join(page, encoding)
  if (!isStored && share === null) return null
  const size = isStored ? Math.min(pieceSize, page.size) : pieceSize
  const leases = [await budgets.bodies.lease(size), ...(share === null ? [] : [share.lease])]
  const source: Source | null = share ?? (await store.openBody(page))
  const whole = { start: 0, end: isStored ? page.size - 1 : Infinity }
  const buffer = Buffer.allocUnsafeSlow(size)
  const first = await source?.read(pieceOf(range?.start ?? 0), buffer).catch(() => null)
  if (source !== null && first) return new StoredBody(source, leases, range ?? whole, first, buffer)
  for (const lease of leases) lease.release()
  await source?.close?.()
  return null
}
