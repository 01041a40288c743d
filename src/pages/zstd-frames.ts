/**
 * Splits a zstd body where its frames end (RFC 8878, section 3.1). The decoded body is that of all frames together, but Node's decoder
 * drops what follows a frame in the same piece.
 */
export class ZstdFrames {
  readonly #walk = walk()
  #step: Step = this.#walk.next().value
  /** The bytes of the field that is being read. */
  #field: number[] = []
  /** Bytes of this step that were passed. */
  #passed = 0
  #count = 0
  readonly #blocks = new Blocks()

  /** Returns the piece in parts, none of which has bytes of two frames. Call it with one piece after the other. */
  split(piece: Buffer): Buffer[] {
    const parts: Buffer[] = []
    let begin = 0
    for (let at = 0; at < piece.length;) {
      const { bytes, isField = false, isEnd = false, isBlocks = false } = this.#step
      if (isEnd) {
        if (at > begin) parts.push(piece.subarray(begin, at))
        begin = at
        if ((this.#count += 1) > maxFrames) throw new Error(`More than ${maxFrames} zstd frames`)
      }
      if (isBlocks) {
        at = this.#blocks.pass(piece, at)
        if (!this.#blocks.isOver) break
      }
      const taken = Math.min(piece.length - at, bytes - this.#passed)
      if (isField) this.#field.push(...piece.subarray(at, at + taken))
      at += taken
      this.#passed += taken
      if (this.#passed < bytes) break
      this.#step = this.#walk.next(Buffer.from(this.#field)).value
      this.#passed = 0
      this.#field = []
    }
    parts.push(piece.subarray(begin))
    return parts
  }
}

/** Each frame costs a call of the decoder, however short it is. */
const maxFrames = 10_000

interface Step {
  bytes: number
  /** The bytes are the answer. */
  isField?: true
  /** A frame has ended before the next byte. */
  isEnd?: true
  /** All blocks of a frame, whatever their sizes. */
  isBlocks?: true
}

/** Passes the blocks of a frame. A body may have a block for every three bytes: a step for each would take seconds. */
class Blocks {
  #header = 0
  /** Bytes of the header that were read. */
  #read = 0
  /** Bytes that the current block still has. */
  #left = 0
  #isLast = false

  /** Whether the last block has ended. The next call then begins another frame. */
  get isOver(): boolean {
    return this.#isLast && this.#left === 0
  }

  /** Returns where the blocks end, or the length of the piece. */
  pass(piece: Buffer, from: number): number {
    if (this.isOver) this.#isLast = false
    let at = from
    while (at < piece.length && !this.isOver) {
      if (this.#left > 0) {
        const taken = Math.min(piece.length - at, this.#left)
        at += taken
        this.#left -= taken
        continue
      }
      this.#header |= piece[at++]! << (8 * this.#read++)
      if (this.#read < 3) continue
      const isRepeated = ((this.#header >> 1) & 3) === 1
      this.#left = isRepeated ? 1 : this.#header >> 3
      this.#isLast = (this.#header & 1) === 1
      this.#header = this.#read = 0
    }
    return at
  }
}

const field = (bytes: number): Step => ({ bytes, isField: true })

function* walk(): Generator<Step, never, Buffer> {
  for (;;) {
    const magic = (yield field(4)).readUInt32LE()
    if (magic >= 0x184d2a50 && magic <= 0x184d2a5f) yield { bytes: (yield field(4)).readUInt32LE() }
    else if (magic === 0xfd2fb528) {
      const descriptor = (yield field(1))[0]!
      yield { bytes: headerSizeOf(descriptor) }
      yield { bytes: 0, isBlocks: true }
      yield { bytes: (descriptor & 4) === 0 ? 0 : 4 }
    }
    // Not zstd: the decoder says so.
    else yield { bytes: Infinity }
    yield { bytes: 0, isEnd: true }
  }
}

/** Bytes between the descriptor of a frame and its first block: the window, the dictionary and the size of the content. */
function headerSizeOf(descriptor: number): number {
  const isSingleSegment = (descriptor & 32) !== 0
  const contentSize = [isSingleSegment ? 1 : 0, 2, 4, 8][descriptor >> 6]!
  return (isSingleSegment ? 0 : 1) + [0, 1, 2, 4][descriptor & 3]! + contentSize
}
