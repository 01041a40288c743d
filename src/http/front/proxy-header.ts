import { isIPv4, isIPv6, SocketAddress } from 'node:net'

/** The client of a proxied connection. */
export interface ProxiedClient {
  /** Null: the proxy itself, for a health check. Empty: unknown to the proxy. */
  address: string | null
  scheme: 'http' | 'https'
}

/** The beginning of a connection, read as a PROXY header. `length`: bytes up to the end of the header. */
export type ProxyReading =
  | { kind: 'partial' }
  | { kind: 'malformed' }
  | { kind: 'whole'; client: ProxiedClient; length: number }

const partial: ProxyReading = { kind: 'partial' }
const malformed: ProxyReading = { kind: 'malformed' }

const signature1 = Buffer.from('PROXY ', 'latin1')
const signature2 = Buffer.from('\r\n\r\n\0\r\nQUIT\n', 'latin1')

/** Bytes of a version 1 header with its line break, at most. */
const longest1 = 107
/** Bytes of a version 2 header up to its addresses. */
const fixed2 = 16
/** Bytes of a version 2 header, at most. nginx has the same limit. */
const longest2 = 4096

/** Reads a PROXY header of version 1 or 2 from the first bytes of a connection. Bytes that cannot become a header are malformed at once. */
export function readProxyHeader(bytes: Buffer): ProxyReading {
  if (begins(bytes, signature1)) return bytes.length < signature1.length ? partial : readVersion1(bytes)
  if (begins(bytes, signature2)) return bytes.length < fixed2 ? partial : readVersion2(bytes)
  return malformed
}

/** Whether the bytes begin with the signature, or are a prefix of it. */
function begins(bytes: Buffer, signature: Buffer): boolean {
  const length = Math.min(bytes.length, signature.length)
  return bytes.compare(signature, 0, length, 0, length) === 0
}

const line1 = /^PROXY (?:UNKNOWN(?: [\x20-\x7e]*)?|TCP([46]) (\S+) (\S+) (0|[1-9]\d{0,4}) (0|[1-9]\d{0,4}))\r\n$/

function readVersion1(bytes: Buffer): ProxyReading {
  const text = bytes.toString('latin1', 0, longest1)
  const length = text.indexOf('\n') + 1
  if (length === 0) return text.length < longest1 ? partial : malformed
  const match = line1.exec(text.slice(0, length))
  if (match === null) return malformed
  const [, family, source, destination, ...ports] = match
  if (family === undefined) return whole('', 'http', length)
  const isAddress = family === '4' ? isIPv4 : isPlainIPv6
  if (!isAddress(source!) || !isAddress(destination!) || ports.some((text) => Number(text) > 65_535)) return malformed
  return whole(family === '4' ? source! : shortened(source!), 'http', length)
}

/** Whether text is an IPv6 address without a zone. */
function isPlainIPv6(text: string): boolean {
  return isIPv6(text) && !text.includes('%')
}

/** An IPv6 address in the form of RFC 5952, in which Node names peers too. */
function shortened(address: string): string {
  return new SocketAddress({ address, family: 'ipv6' }).address
}

function whole(address: string | null, scheme: 'http' | 'https', length: number): ProxyReading {
  return { kind: 'whole', client: { address, scheme }, length }
}

/** Bytes of both addresses and ports by address family: unspecified, IPv4, IPv6, Unix. */
const addressLengths = [0, 12, 36, 216]
/** Transports: unspecified, stream, datagram. The last is how a visitor over QUIC reached the proxy. */
const transports = 3

function readVersion2(bytes: Buffer): ProxyReading {
  const length = fixed2 + bytes.readUInt16BE(14)
  const [command, family, transport] = [bytes[12]!, bytes[13]! >> 4, bytes[13]! & 0xf]
  if (length > longest2 || (command !== 0x20 && command !== 0x21)) return malformed
  // LOCAL: the proxy's own connection, whose addresses are to be ignored.
  if (command === 0x20) return bytes.length < length ? partial : whole(null, 'http', length)
  const addressLength = addressLengths[family]
  if (addressLength === undefined || transport >= transports || (transport === 0) !== (family === 0)) return malformed
  if (fixed2 + addressLength > length) return malformed
  if (bytes.length < length) return partial
  const extensions = readExtensions(bytes.subarray(fixed2 + addressLength, length))
  if (extensions === null || !isIntact(bytes.subarray(0, length), extensions)) return malformed
  const scheme = schemeOf(extensions)
  return scheme === null ? malformed : whole(addressOf(family, bytes), scheme, length)
}

function addressOf(family: number, bytes: Buffer): string {
  if (family === 1) return bytes.subarray(fixed2, fixed2 + 4).join('.')
  if (family !== 2) return ''
  const groups = Array.from({ length: 8 }, (_, index) => bytes.readUInt16BE(fixed2 + 2 * index).toString(16))
  return shortened(groups.join(':'))
}

interface Extension {
  type: number
  value: Buffer
}

/** Splits type-length-value fields; null where they do not fill the bytes exactly. */
function readExtensions(bytes: Buffer): Extension[] | null {
  const extensions: Extension[] = []
  let position = 0
  while (position + 3 <= bytes.length) {
    const end = position + 3 + bytes.readUInt16BE(position + 1)
    if (end > bytes.length) return null
    extensions.push({ type: bytes[position]!, value: bytes.subarray(position + 3, end) })
    position = end
  }
  return position === bytes.length ? extensions : null
}

const checksumType = 0x03
const tlsType = 0x20
/** Of the client field of a TLS extension: the client connected over TLS. */
const overTls = 0x01

/** The scheme that the TLS extension tells; null where there are several, or a malformed one. */
function schemeOf(extensions: readonly Extension[]): 'http' | 'https' | null {
  const [tls, ...more] = extensions.filter(({ type }) => type === tlsType)
  if (tls === undefined) return 'http'
  if (more.length > 0 || tls.value.length < 5 || readExtensions(tls.value.subarray(5)) === null) return null
  return (tls.value[0]! & overTls) === 0 ? 'http' : 'https'
}

/** Whether the header has no checksum, or the right one. */
function isIntact(header: Buffer, extensions: readonly Extension[]): boolean {
  const [checksum, ...more] = extensions.filter(({ type }) => type === checksumType).map(({ value }) => value)
  if (checksum === undefined) return true
  if (more.length > 0 || checksum.length !== 4) return false
  const start = checksum.byteOffset - header.byteOffset
  const zeroed = Buffer.concat([header.subarray(0, start), Buffer.alloc(4), header.subarray(start + 4)])
  return crc32c(zeroed) === checksum.readUInt32BE()
}

/** CRC-32C (RFC 9260, appendix A). `node:zlib` has another polynomial. */
function crc32c(bytes: Buffer): number {
  let crc = ~0
  for (const byte of bytes) {
    crc ^= byte
    for (let bit = 0; bit < 8; bit++) crc = (crc >>> 1) ^ (0x82f63b78 & -(crc & 1))
  }
  return ~crc >>> 0
}
