import zlib from 'node:zlib'
import { expect, it, onTestFinished } from 'vitest'
import { KeptEngine } from '../../src/pages/kept-engine.ts'
import { random } from '../helpers/random.ts'

const decoders = { gzip: zlib.gunzipSync, zstd: zlib.zstdDecompressSync }
const codings = ['gzip', 'zstd'] as const

const next = random(3)
/** A text that compresses by about half. */
const text = (length: number) =>
  Buffer.from(Array.from({ length }, () => 'abcdefghijklmnop'.charCodeAt(Math.floor(next() * 16))))
/** Bytes that do not compress. */
const noise = (length: number) => Buffer.from(Array.from({ length }, () => Math.floor(next() * 256)))

/** Larger than one output chunk, empty, and sizes between. */
const bodies = [text(20_000), noise(300_000), Buffer.alloc(0), text(1), Buffer.alloc(200_000, 'x'), noise(65_536)]

it.each(codings)('compresses one body after the other with %s, each in memory of its own', async (coding) => {
  const warnings: Error[] = []
  const onWarning = (warning: Error) => void warnings.push(warning)
  process.on('warning', onWarning)
  onTestFinished(() => void process.off('warning', onWarning))
  const compressor = new KeptEngine(coding)
  // Often enough that Node would warn of listeners that are left behind.
  const compressed = Array.from({ length: 4 }, () => bodies.map((body) => compressor.run(body))).flat()
  for (const [at, bytes] of compressed.entries()) {
    expect(decoders[coding](bytes).equals(bodies[at % bodies.length]!), `body ${at}`).toBe(true)
    expect(bytes.buffer.byteLength, `memory of body ${at}`).toBe(bytes.length)
  }
  await new Promise((resolve) => setImmediate(resolve))
  expect(warnings).toEqual([])
})

it.each(codings)('compresses a body with %s as if there had been none before', (coding) => {
  const secret = text(30_000)
  const used = new KeptEngine(coding)
  used.run(secret)
  const body = Buffer.concat([text(5_000), secret.subarray(0, 2_000)])
  expect(used.run(body).equals(new KeptEngine(coding).run(body))).toBe(true)
})

it('puts the result where it is told to', () => {
  const memory = Buffer.alloc(100_000)
  const made = new KeptEngine('gzip').run(text(20_000), undefined, (size) => memory.subarray(7, 7 + size))
  expect([made.buffer, made.byteOffset]).toEqual([memory.buffer, 7])
  expect(zlib.gunzipSync(made)).toHaveLength(20_000)
})

const garbage = Buffer.from('garbage')
const zipped = bodies.map((body) => zlib.gzipSync(body))
/** What a shop may send: whole, cut off, altered, two members, and with zeros or other bytes behind it. */
const received = zipped.flatMap((bytes) => [
  bytes,
  bytes.subarray(0, -5),
  bytes.subarray(0, bytes.length >> 1),
  Buffer.concat([bytes.subarray(0, 12), garbage, bytes.subarray(12)]),
  Buffer.concat([bytes, zipped[0]!]),
  Buffer.concat([bytes, Buffer.alloc(9)]),
  Buffer.concat([bytes, garbage]),
  garbage,
  Buffer.alloc(0),
])

function outcomeOf(decompress: () => Buffer): Buffer | string {
  try {
    return decompress()
  } catch (error) {
    return (error as NodeJS.ErrnoException).code ?? String(error)
  }
}

it('decompresses what zlib.gunzipSync does, and refuses what it refuses', () => {
  const engine = new KeptEngine('gunzip')
  for (const most of [1 << 20, 100_000, 19_999]) {
    for (const [at, bytes] of received.entries()) {
      const made = outcomeOf(() => engine.run(bytes, most))
      expect(made, `${at}, at most ${most}`).toEqual(
        outcomeOf(() => zlib.gunzipSync(bytes, { maxOutputLength: most, chunkSize: 65_536 })),
      )
      if (Buffer.isBuffer(made)) expect(made.buffer.byteLength).toBe(made.length)
    }
  }
})
