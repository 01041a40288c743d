import { timingSafeEqual } from 'node:crypto'
import type { FileHandle } from 'node:fs/promises'
import type { StoredBody } from './page-reads.ts'
import { AlteredBody, digestIn, listSize, pieceSize, sha256 } from './piece-digests.ts'

/** An open body, read piece by piece and verified before use. It stays readable when its page is removed. */
export class BodyReader {
  readonly size: number
  readonly #handle: FileHandle
  readonly #list: Buffer
  readonly #digest: Buffer
  /** Offset of the body in its file, in bytes. */
  readonly #at: number

  private constructor(handle: FileHandle, { size, digest, at }: StoredBody, list: Buffer) {
    this.size = size
    this.#at = at
    this.#handle = handle
    this.#list = list
    this.#digest = digest
  }

  /**
   * Takes ownership of an open file. On an error the caller keeps it. @throws AlteredBody for a different file, or the
   * system's error
   */
  static async over(handle: FileHandle, stored: StoredBody): Promise<BodyReader> {
    const found = await handle.stat()
    const list = Buffer.allocUnsafeSlow(listSize(stored.size))
    if (!found.isFile() || found.size !== stored.fileSize) throw new AlteredBody()
    if (list.length > 0) {
      const { bytesRead } = await handle.read(list, 0, list.length, stored.at + stored.size)
      if (bytesRead !== list.length || !timingSafeEqual(sha256(list), stored.digest)) throw new AlteredBody()
    }
    return new BodyReader(handle, stored, list)
  }

  /**
   * Reads a piece, counted from 0, into the start of a buffer.
   * @returns the part of the buffer that holds the piece
   * @throws AlteredBody, or the system's error
   */
  async read(piece: number, into: Buffer): Promise<Buffer> {
    const start = piece * pieceSize
    const wanted = into.subarray(0, Math.min(pieceSize, this.size - start))
    const { bytesRead } = await this.#handle.read(wanted, 0, wanted.length, this.#at + start)
    const digest = this.#list.length === 0 ? this.#digest : digestIn(this.#list, piece)
    if (bytesRead !== wanted.length || !timingSafeEqual(sha256(wanted), digest)) throw new AlteredBody()
    return wanted
  }

  async readAll(): Promise<Buffer> {
    const body = Buffer.allocUnsafeSlow(this.size)
    for (let piece = 0; piece === 0 || piece * pieceSize < this.size; piece += 1)
      await this.read(piece, body.subarray(piece * pieceSize))
    return body
  }

  async close(): Promise<void> {
    await this.#handle.close()
  }
}
