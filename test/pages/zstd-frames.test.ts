import { constants, zstdCompressSync } from 'node:zlib'
import { expect, it } from 'vitest'
import { decode, TooLarge, transcode, transcoded } from '../../src/pages/codec.ts'
import { ZstdFrames } from '../../src/pages/zstd-frames.ts'
import { random } from '../helpers/random.ts'

const small = Buffer.from('a page of a shop, '.repeat(50))
const next = random(7)
/** Compresses badly: several blocks, in a frame with a window. */
const large = Buffer.from(Array.from({ length: 300_000 }, () => Math.floor(next() * 64) + 48))
const checked = (body: Buffer) => zstdCompressSync(body, { params: { [constants.ZSTD_c_checksumFlag]: 1 } })
/** A frame that decoders ignore. */
const ignored = Buffer.from([0x53, 0x2a, 0x4d, 0x18, 3, 0, 0, 0, 1, 2, 3])
const frames = [
  ignored,
  zstdCompressSync(small),
  checked(large),
  zstdCompressSync(Buffer.alloc(0)),
  ignored,
  checked(small),
]
const body = Buffer.concat(frames)
const decoded = Buffer.concat([small, large, small])

async function* pieces(of: Buffer, size: number): AsyncIterable<Buffer> {
  for (let at = 0; at < of.length; at += size) yield of.subarray(at, at + size)
}

async function collect(stream: AsyncIterable<Buffer>): Promise<Buffer> {
  const found: Buffer[] = []
  for await (const piece of stream) found.push(piece)
  return Buffer.concat(found)
}

it('a body of several zstd frames is decoded as a whole', async () => {
  expect(new ZstdFrames().split(body)).toEqual(frames)
  expect(await decode(body, 'zstd', decoded.length)).toEqual(decoded)
  const short = Buffer.concat([frames[1]!, frames[5]!])
  const both = Buffer.concat([small, small])
  expect(await transcode(short, 'zstd', 'identity', both.length)).toEqual(both)
  await expect(transcode(short, 'zstd', 'identity', both.length - 1)).rejects.toThrow()
  await expect(decode(body, 'zstd', decoded.length - 1)).rejects.toThrow(TooLarge)
})

it.each([1, 2, 3, 5, 64, 4096, body.length])('in pieces of %i bytes too', async (size) => {
  const part = size < 64 ? Buffer.concat([ignored, frames[1]!, frames[5]!]) : body
  const expected = size < 64 ? Buffer.concat([small, small]) : decoded
  expect(await collect(transcoded(pieces(part, size), 'zstd', 'identity'))).toEqual(expected)
})

it('a broken frame behind a good one is an error', async () => {
  const [, first, second] = frames as [Buffer, Buffer, Buffer]
  for (const rest of [second.subarray(0, -3), Buffer.from('no such frame'), first.subarray(0, 6)])
    await expect(decode(Buffer.concat([first, rest]), 'zstd', 1 << 20)).rejects.toThrow()
  const empty = zstdCompressSync(Buffer.alloc(0))
  await expect(decode(Buffer.concat(Array<Buffer>(10_002).fill(empty)), 'zstd', 1 << 20)).rejects.toThrow('frames')
})

it('a frame of millions of empty blocks is split in a moment', () => {
  const head = Buffer.from([0x28, 0xb5, 0x2f, 0xfd, 0, 0x58])
  const empty = Buffer.concat([head, Buffer.alloc(9_000_000), Buffer.from([1, 0, 0])])
  const both = Buffer.concat([empty, frames[1]!])
  const before = process.cpuUsage()
  const parts = new ZstdFrames().split(both)
  // A step for each block takes seconds of processor time, in which no visitor is answered.
  expect(process.cpuUsage(before).user).toBeLessThan(1_000_000)
  expect(parts.map(({ length }) => length)).toEqual([empty.length, frames[1]!.length])
})

it('many frames of a small body hold up no other visitor', async () => {
  const empty = zstdCompressSync(Buffer.alloc(0))
  const many = Buffer.concat([...Array<Buffer>(2_000).fill(empty), frames[1]!])
  let isOver = false
  const transcoding = transcode(many, 'zstd', 'identity', small.length).finally(() => (isOver = true))
  await new Promise((resolve) => setImmediate(resolve))
  expect(isOver).toBe(false)
  expect(await transcoding).toEqual(small)
})
