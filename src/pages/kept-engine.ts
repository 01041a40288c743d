import { kMaxLength } from 'node:buffer'
import type { Transform } from 'node:stream'
import zlib from 'node:zlib'

/** Node's compressors and decompressors beyond their types. Node keeps `_processChunk`, which works at once, for older programs. */
interface Engine extends Transform {
  /** Bytes of output beyond which `_processChunk` fails with ERR_BUFFER_TOO_LARGE. */
  _maxOutputLength: number
  /** Where in the chunk of output the next byte goes. */
  _outOffset: number
  /** Null once it is closed; `_processChunk` closes it before it returns. */
  _handle: { close(): void } | null
  _processChunk(chunk: Buffer, flush: number): Buffer
  reset(): void
}

/** Level 2 takes half the time of level 6, for 6 % more bytes. */
export const cheapGzipLevel = 2
/** Size of an output chunk in bytes. Most small bodies fit into one. */
const chunkSize = 64 * 1024

/** `reset` of a zstd compressor also resets its level, so it has Node's default. */
const engines = {
  gunzip: { open: () => zlib.createGunzip({ chunkSize }), end: 'Z_FINISH' },
  gzip: { open: () => zlib.createGzip({ level: cheapGzipLevel, chunkSize }), end: 'Z_FINISH' },
  zstd: { open: () => zlib.createZstdCompress({ chunkSize }), end: 'ZSTD_e_end' },
} as const

/**
 * Compresses or decompresses one body after the other with the same engine. `zlib.gzipSync` and the like create one for each body: up to a
 * quarter of a megabyte to be allocated, cleared and freed, and a stream around it, which becomes old in V8's heap with its buffers
 * (docs/decisions/0137-kept-compressors.md).
 */
export class KeptEngine {
  readonly #kind: keyof typeof engines
  #engine: Engine | null = null

  constructor(kind: keyof typeof engines) {
    this.#kind = kind
  }

  /**
   * Returns the result, in memory of its own unless `allocate` gives other memory.
   *
   * @param most bytes of the result @throws zlib's error, with ERR_BUFFER_TOO_LARGE beyond `most`
   */
  run(body: Buffer, most = kMaxLength, allocate = Buffer.allocUnsafeSlow): Buffer {
    const { open, end } = engines[this.#kind]
    const engine = this.#engine ?? keptOpen(open() as unknown as Engine)
    // Not kept if it fails.
    this.#engine = null
    engine._maxOutputLength = most
    const handle = engine._handle!
    let shared: Buffer
    try {
      shared = engine._processChunk(body, zlib.constants[end])
    } catch (error) {
      delete (handle as Partial<typeof handle>).close
      handle.close()
      throw error
    }
    engine._handle = handle
    engine.removeAllListeners('error')
    engine.reset()
    this.#engine = engine
    // The next body overwrites the shared output.
    const result = allocate(shared.length)
    shared.copy(result)
    engine._outOffset = 0
    return result
  }
}

/** Keeps an engine open at the end of a body. */
function keptOpen(engine: Engine): Engine {
  engine._handle!.close = () => {}
  return engine
}
