import { createHash } from 'node:crypto'
import { crc32, deflateSync } from 'node:zlib'

export interface Image {
  contentType: string
  body: Buffer
  /** A strong entity tag, quotes included. */
  etag: string
}

const side = 240

/** Draws the image of `/media/<name>.<extension>`, always the same for a name. Null for an unknown extension. */
export function drawImage(name: string, extension: string): Image | null {
  const seed = createHash('sha256').update(name).digest()
  if (extension === 'svg') return toImage('image/svg+xml', Buffer.from(drawSvg(seed)))
  if (extension === 'png') return toImage('image/png', drawPng(seed))
  return null
}

function toImage(contentType: string, body: Buffer): Image {
  return { contentType, body, etag: `"${createHash('sha256').update(body).digest('hex').slice(0, 16)}"` }
}

function drawSvg(seed: Buffer): string {
  const hue = seed.readUInt16LE(0) % 360
  const hills = [0, 1, 2].map((index) => {
    const height = 150 + index * 50 + (seed[index + 2] ?? 0) / 8
    const bend = height - 60 + (seed[index + 5] ?? 0) / 3
    return `<path d="M0 ${height} Q300 ${bend} 600 ${height} T1200 ${height} V320 H0Z" fill="hsl(${hue + index * 14} 35% ${70 - index * 14}%)"/>`
  })
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 1200 320"><rect width="1200" height="320" fill="hsl(${hue} 45% 88%)"/><circle cx="${200 + (seed[9] ?? 0) * 3}" cy="90" r="46" fill="hsl(${(hue + 40) % 360} 80% 78%)"/>${hills.join('')}</svg>`
}

/** Draws a palette PNG (one byte per pixel): a round shape over a soft gradient. */
function drawPng(seed: Buffer): Buffer {
  const hue = seed.readUInt16LE(0) % 360
  const palette = Buffer.alloc(64 * 3)
  for (let index = 0; index < 32; index += 1) {
    palette.set(toRgb(hue, 0.18, 0.96 - index * 0.006), index * 3)
    palette.set(toRgb((hue + 20) % 360, 0.42, 0.72 - index * 0.012), (32 + index) * 3)
  }
  const rows = Buffer.alloc((side + 1) * side)
  const squash = 0.6 + (seed[2] ?? 0) / 400
  for (let y = 0; y < side; y += 1) {
    for (let x = 0; x < side; x += 1) {
      const inside = ((x - side / 2) / squash) ** 2 + (y - side / 2) ** 2 < (side * 0.34) ** 2
      rows[y * (side + 1) + 1 + x] = (inside ? 32 : 0) + Math.floor(((x + y) / (2 * side)) * 32)
    }
  }
  const header = Buffer.alloc(13)
  header.writeUInt32BE(side, 0)
  header.writeUInt32BE(side, 4)
  header.set([8, 3, 0, 0, 0], 8)
  const signature = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a])
  const chunks = [
    toChunk('IHDR', header),
    toChunk('PLTE', palette),
    toChunk('IDAT', deflateSync(rows)),
    toChunk('IEND', Buffer.alloc(0)),
  ]
  return Buffer.concat([signature, ...chunks])
}

function toChunk(type: string, data: Buffer): Buffer {
  const typed = Buffer.concat([Buffer.from(type, 'latin1'), data])
  const length = Buffer.alloc(4)
  length.writeUInt32BE(data.length)
  const checksum = Buffer.alloc(4)
  checksum.writeUInt32BE(crc32(typed))
  return Buffer.concat([length, typed, checksum])
}

function toRgb(hue: number, saturation: number, lightness: number): [number, number, number] {
  const reach = saturation * Math.min(lightness, 1 - lightness)
  const channel = (offset: number) => {
    const angle = (offset + hue / 30) % 12
    return Math.round(255 * (lightness - reach * Math.max(-1, Math.min(angle - 3, 9 - angle, 1))))
  }
  return [channel(0), channel(8), channel(4)]
}
