import type { Lease } from '../lib/byte-budget.ts'
import { transcoded } from '../pages/codec.ts'
import type { Encoding, Page } from '../pages/page.ts'
import type { OpenBody, PageStore } from '../pages/page-store.ts'
import { pieceSize } from '../pages/piece-digests.ts'
import type { Spool } from '../pages/spool.ts'
import { transcoderBytes, type SendingBudgets } from './in-flight.ts'

type Coding = Exclude<Encoding, 'identity'>

/**
 * Transcodes large stored bodies into temporary files at full speed, one per page and coding however many visitors ask
 * at a time. Readers follow the file, so a slow one delays neither the transcoder nor other readers
 * (docs/decisions/0080-transcoding-into-files.md).
 */
export class Transcodes {
  readonly #store: PageStore
  readonly #budgets: SendingBudgets
  readonly #current = new Map<string, Promise<Transcode | null>>()

  constructor(store: PageStore, budgets: SendingBudgets) {
    this.#store = store
    this.#budgets = budgets
  }

  /** A share in the transcoded body of a page; null when the stored body is unreadable or there is no space. */
  async join(page: Page, to: Encoding): Promise<Share | null> {
    const name = `${page.id} ${page.cachedAt} ${to}`
    let starting = this.#current.get(name)
    if (starting === undefined) {
      starting = this.#start(page, to, () => this.#current.delete(name))
      this.#current.set(name, starting)
    }
    // The last reader may leave while this one waits: then it starts anew.
    const transcode = await starting
    return transcode === null ? null : (transcode.share() ?? this.join(page, to))
  }

  async #start(page: Page, to: Encoding, onEnd: () => void): Promise<Transcode | null> {
    const { spools, transcoders } = this.#budgets
    // Disk space first: what holds a transcoder must never wait for a reader.
    const room = await spools.lease(page.originalSize)
    const transcoder = await transcoders.lease(transcoderBytes)
    const end = () => {
      onEnd()
      room.release()
    }
    const [file, spool] = await Promise.all([this.#store.openBody(page), this.#store.openSpool()])
    if (file !== null && spool !== null) {
      const source = transcoded(piecesOf(file, page.size), page.encoding as Coding, to)
      void spool.fill(source).finally(() => {
        transcoder.release()
        void file.close()
      })
      return new Transcode(spool, room, end)
    }
    transcoder.release()
    end()
    await Promise.all([file?.close(), spool?.close()])
    return null
  }
}

/** Reads a whole body; each piece has memory of its own, because the decoder reads ahead. */
async function* piecesOf(file: OpenBody, size: number): AsyncGenerator<Buffer> {
  for (let piece = 0; piece * pieceSize < size; piece++)
    yield await file.read(piece, Buffer.allocUnsafeSlow(Math.min(pieceSize, size)))
}

/** A reader's share in a transcoded body. */
export interface Share {
  read: Spool['read']
  lease: Lease
}

class Transcode {
  readonly #spool: Spool
  readonly #room: Lease
  readonly #onEnd: () => void
  readonly #readers = new Set<Lease>()
  #ended = false

  constructor(spool: Spool, room: Lease, onEnd: () => void) {
    this.#spool = spool
    this.#room = room
    this.#onEnd = onEnd
    room.onCut = () => {
      for (const reader of this.#readers) reader.onCut?.()
    }
  }

  /** Null when the last reader has left. */
  share(): Share | null {
    if (this.#ended) return null
    const lease: Lease = {
      onCut: null,
      touch: () => this.#room.touch(),
      grow: (bytes) => this.#room.grow(bytes),
      release: () => {
        if (this.#readers.delete(lease) && this.#readers.size === 0) this.#end()
      },
    }
    this.#readers.add(lease)
    return { read: (piece, into) => this.#spool.read(piece, into), lease }
  }

  #end(): void {
    this.#ended = true
    void this.#spool.close()
    this.#onEnd()
  }
}
