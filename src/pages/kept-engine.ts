import type { Transform } from 'node:stream'
import zlib from 'node:zlib'

/** Node's compressors beyond their types. Node keeps `_processChunk`, which compresses at once, for older programs. */
interface Engine extends Transform {
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
  gzip: { open: () => zlib.createGzip({ level: cheapGzipLevel, chunkSize }), end: 'Z_FINISH' },
  zstd: { open: () => zlib.createZstdCompress({ chunkSize }), end: 'ZSTD_e_end' },
} as const

/**
 * Compresses one body after the other with the same compressor. `zlib.gzipSync` and the like create one for each body: a quarter of a
 * megabyte to be allocated, cleared and freed, and a stream around it (docs/decisions/0137-kept-compressors.md).
 */
export class KeptCompressor {
  readonly #coding: keyof typeof engines
  #engine: Engine | null = null

  constructor(coding: keyof typeof engines) {
    this.#coding = coding
  }

  /** Returns the compressed body, in memory of its own. */
  compress(body: Buffer): Buffer {
    const { open, end } = engines[this.#coding]
    const engine = this.#engine ?? keptOpen(open() as unknown as Engine)
    // Not kept if it fails.
    this.#engine = null
    const handle = engine._handle
    const shared = engine._processChunk(body, zlib.constants[end])
    engine._handle = handle
    engine.removeAllListeners('error')
    engine.reset()
    this.#engine = engine
    // The next body overwrites the shared output.
    const own = Buffer.allocUnsafeSlow(shared.length)
    shared.copy(own)
    return own
  }
}

/** Keeps a compressor open at the end of a body. */
function keptOpen(engine: Engine): Engine {
  engine._handle!.close = () => {}
  return engine
}
