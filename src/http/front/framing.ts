import { mostFields } from './guard.ts'
import { largestChunk, parsePlainRequest } from './plain-request.ts'

const nothing: Buffer = Buffer.alloc(0)

/** Follows where the requests end in the bytes that Node's parser gets, as long as they are plain. */
export class Framing {
  /** Requests whose heads are complete. */
  requests = 0
  /** Whether something was not plain: from there on, only Node's parser knows. */
  isLost = false
  /** The beginning of a head. */
  #head = nothing
  /** Bytes of a body that have not arrived. */
  #missing = 0

  /** Whether the bytes end where a request ends. */
  get isWhole(): boolean {
    return !this.isLost && this.#head.length === 0 && this.#missing === 0
  }

  take(chunk: Buffer): void {
    for (let rest = chunk; rest.length > 0 && !this.isLost;)
      rest = this.#missing > 0 ? this.#skip(rest) : this.#read(rest)
  }

  /** Skips a body. Returns the bytes behind it. */
  #skip(bytes: Buffer): Buffer {
    const skipped = Math.min(bytes.length, this.#missing)
    this.#missing -= skipped
    return bytes.subarray(skipped)
  }

  /** Reads a head, which may have begun in an earlier chunk. Returns the bytes behind it. */
  #read(bytes: Buffer): Buffer {
    const head = this.#head.length === 0 ? bytes : Buffer.concat([this.#head, bytes])
    const end = head.indexOf('\r\n\r\n', Math.max(0, this.#head.length - 3)) + 4
    if (end < 4) {
      this.isLost = head.length > largestChunk
      // Copied: a slice would keep the whole chunk in memory.
      this.#head = this.isLost ? nothing : Buffer.from(head)
      return nothing
    }
    this.#head = nothing
    const request = parsePlainRequest(head.subarray(0, end), false, mostFields)
    const length = request === null ? null : (request.field('content-length') ?? '0')
    if (length === null || !/^\d{1,15}$/.test(length)) {
      this.isLost = true
      return nothing
    }
    this.requests += 1
    this.#missing = Number(length)
    return head.subarray(end)
  }
}
