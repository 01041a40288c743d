import { timingSafeEqual } from 'node:crypto'
import type { FileHandle } from 'node:fs/promises'
import { AlteredBody, pieceSize, sha256 } from './piece-digests.ts'

/**
 * A body that is written to a nameless file once, while any number of readers follow at their own speed. The system
 * frees the file when it is closed, even after a crash. Each piece is verified before it is sent.
 */
export class Spool {
  readonly #handle: FileHandle
  readonly #retry: <T>(write: () => Promise<T>) => Promise<T>
  /** The digests of the pieces written so far. */
  readonly #digests: Buffer[] = []
  #size = 0
  #isWhole = false
  #failure: Error | null = null
  #change = Promise.withResolvers<void>()

  /** @param retry runs each write, and repeats it when space was freed */
  constructor(handle: FileHandle, retry: <T>(write: () => Promise<T>) => Promise<T>) {
    this.#handle = handle
    this.#retry = retry
  }

  /**
   * Writes the body until the source ends or fails, or the file is closed. Never throws: the readers get the error.
   */
  async fill(source: AsyncIterable<Buffer>): Promise<void> {
    try {
      for await (const piece of inPieces(source)) {
        const digest = sha256(piece)
        await this.#retry(() => this.#write(piece))
        this.#size += piece.length
        this.#digests.push(digest)
        this.#announce()
      }
      this.#isWhole = true
    } catch (error) {
      this.#failure = error as Error
    }
    this.#announce()
  }

  async #write(piece: Buffer): Promise<void> {
    for (let done = 0; done < piece.length;)
      done += (await this.#handle.write(piece, done, piece.length - done, this.#size + done)).bytesWritten
  }

  #announce(): void {
    this.#change.resolve()
    this.#change = Promise.withResolvers()
  }

  /**
   * Reads a piece into a buffer as soon as it is written. Null: the body ends before it.
   *
   * @throws why the body could not be written, AlteredBody, or the system's error
   */
  async read(piece: number, into: Buffer): Promise<Buffer | null> {
    while (piece >= this.#digests.length) {
      if (this.#failure !== null) throw this.#failure
      if (this.#isWhole) return null
      await this.#change.promise
    }
    const wanted = into.subarray(0, Math.min(pieceSize, this.#size - piece * pieceSize))
    const { bytesRead } = await this.#handle.read(wanted, 0, wanted.length, piece * pieceSize)
    if (bytesRead !== wanted.length || !timingSafeEqual(sha256(wanted), this.#digests[piece]!)) throw new AlteredBody()
    return wanted
  }

  /** Frees the file. Readers that still wait get an error. */
  async close(): Promise<void> {
    await this.#handle.close()
  }
}

/** Regroups chunks of any size into pieces of `pieceSize` bytes; the last may be smaller. */
async function* inPieces(source: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  const piece = Buffer.allocUnsafeSlow(pieceSize)
  let filled = 0
  for await (const chunk of source) {
    for (let at = 0; at < chunk.length;) {
      const copied = chunk.copy(piece, filled, at)
      at += copied
      filled += copied
      if (filled < pieceSize) continue
      yield piece
      filled = 0
    }
  }
  if (filled > 0) yield piece.subarray(0, filled)
}
