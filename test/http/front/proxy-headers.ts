/** Bytes of PROXY headers for tests. */

export const signature = Buffer.from('\r\n\r\n\0\r\nQUIT\n', 'latin1')

export interface Version2 {
  /** Version and command. */
  command?: number
  /** Address family and transport. */
  family?: number
  addresses?: Buffer
  extensions?: readonly Buffer[]
  /** Instead of the right one. */
  length?: number
}

const ipv4 = Buffer.from([192, 0, 2, 7, 198, 51, 100, 1, 0x30, 0x39, 0x01, 0xbb])

/** A header of version 2; by default for the client 192.0.2.7. */
export function version2({ command = 0x21, family = 0x11, addresses = ipv4, extensions = [], length }: Version2 = {}) {
  const rest = Buffer.concat([addresses, ...extensions])
  const fixed = Buffer.from([command, family, 0, 0])
  fixed.writeUInt16BE(length ?? rest.length, 2)
  return Buffer.concat([signature, fixed, rest])
}

export function extension(type: number, value: Buffer, length = value.length): Buffer {
  const head = Buffer.from([type, 0, 0])
  head.writeUInt16BE(length, 1)
  return Buffer.concat([head, value])
}

/** A TLS extension: the client field, four bytes with the verification of the client's certificate, further extensions. */
export function tls(client: number, more: readonly Buffer[] = [extension(0x21, Buffer.from('TLSv1.3'))]): Buffer {
  return extension(0x20, Buffer.concat([Buffer.from([client, 0, 0, 0, 0]), ...more]))
}

/** 2001:db8::1 with the port 4711, to 2001:db8::2. */
export const ipv6 = Buffer.from('20010db800000000000000000000000120010db800000000000000000000000212670050', 'hex')

/** A Unix socket. */
const unix = Buffer.alloc(216, 'x')

/** Valid headers, each with the client that it tells. */
export const valid: Readonly<Record<string, { bytes: Buffer; address: string | null; scheme?: 'https' }>> = {
  'v1 IPv4': { bytes: Buffer.from('PROXY TCP4 192.0.2.7 198.51.100.1 56324 443\r\n'), address: '192.0.2.7' },
  'v1 IPv6': { bytes: Buffer.from('PROXY TCP6 2001:DB8:0::1 ::1 0 65535\r\n'), address: '2001:db8::1' },
  'v1 unknown': { bytes: Buffer.from('PROXY UNKNOWN\r\n'), address: '' },
  'v1 unknown with addresses': { bytes: Buffer.from('PROXY UNKNOWN 127.0.0.1 x\r\n'), address: '' },
  'v1 as long as it may be': { bytes: Buffer.from(`PROXY UNKNOWN ${'f'.repeat(91)}\r\n`), address: '' },
  'v2 IPv4': { bytes: version2(), address: '192.0.2.7' },
  'v2 IPv6': { bytes: version2({ family: 0x21, addresses: ipv6 }), address: '2001:db8::1' },
  'v2 QUIC': { bytes: version2({ family: 0x12 }), address: '192.0.2.7' },
  'v2 Unix socket': { bytes: version2({ family: 0x31, addresses: unix }), address: '' },
  'v2 unspecified': { bytes: version2({ family: 0, addresses: Buffer.alloc(0) }), address: '' },
  'v2 health check of the proxy': { bytes: version2({ command: 0x20, family: 0 }), address: null },
  'v2 TLS': { bytes: version2({ extensions: [tls(0x01)] }), address: '192.0.2.7', scheme: 'https' },
  'v2 TLS with a client certificate': {
    bytes: version2({ extensions: [extension(0x04, Buffer.alloc(9)), tls(0x07)] }),
    address: '192.0.2.7',
    scheme: 'https',
  },
  'v2 TLS extension of a client without TLS': { bytes: version2({ extensions: [tls(0)] }), address: '192.0.2.7' },
  'v2 with a checksum': {
    bytes: version2({ extensions: [extension(0x03, Buffer.from('bcae6901', 'hex'))] }),
    address: '192.0.2.7',
  },
  'v2 as long as it may be': {
    bytes: version2({ extensions: [extension(0xe0, Buffer.alloc(4096 - 16 - 12 - 3))] }),
    address: '192.0.2.7',
  },
}

const v1 = (line: string) => Buffer.from(line, 'latin1')

/** Bytes that are no PROXY header, and that no bytes behind them can make one. */
export const malformed: Readonly<Record<string, Buffer>> = {
  HTTP: v1('GET / HTTP/1.1\r\n'),
  TLS: Buffer.from([0x16, 3, 1, 2, 0, 1]),
  'lower case': v1('proxy TCP4 192.0.2.7 198.51.100.1 56324 443\r\n'),
  'v1 without a family': v1('PROXY \r\n'),
  'v1 of another family': v1('PROXY UDP4 192.0.2.7 198.51.100.1 56324 443\r\n'),
  'v1 that continues the family': v1('PROXY UNKNOWNX\r\n'),
  'v1 with the wrong family': v1('PROXY TCP6 192.0.2.7 198.51.100.1 56324 443\r\n'),
  'v1 with IPv6 as IPv4': v1('PROXY TCP4 2001:db8::1 ::1 56324 443\r\n'),
  'v1 with an octet over 255': v1('PROXY TCP4 192.0.2.256 198.51.100.1 56324 443\r\n'),
  'v1 with an octal octet': v1('PROXY TCP4 192.0.02.7 198.51.100.1 56324 443\r\n'),
  'v1 with a name': v1('PROXY TCP4 localhost 198.51.100.1 56324 443\r\n'),
  'v1 with a zone': v1('PROXY TCP6 fe80::1%eth0 ::1 56324 443\r\n'),
  'v1 with a false destination': v1('PROXY TCP4 192.0.2.7 nowhere 56324 443\r\n'),
  'v1 with a port over 65535': v1('PROXY TCP4 192.0.2.7 198.51.100.1 65536 443\r\n'),
  'v1 with a signed port': v1('PROXY TCP4 192.0.2.7 198.51.100.1 +1 443\r\n'),
  'v1 with a padded port': v1('PROXY TCP4 192.0.2.7 198.51.100.1 0443 443\r\n'),
  'v1 without a port': v1('PROXY TCP4 192.0.2.7 198.51.100.1 56324\r\n'),
  'v1 with a field too many': v1('PROXY TCP4 192.0.2.7 198.51.100.1 56324 443 1\r\n'),
  'v1 with two spaces': v1('PROXY TCP4  192.0.2.7 198.51.100.1 56324 443\r\n'),
  'v1 with a tab': v1('PROXY TCP4\t192.0.2.7 198.51.100.1 56324 443\r\n'),
  'v1 with a space at the end': v1('PROXY TCP4 192.0.2.7 198.51.100.1 56324 443 \r\n'),
  'v1 with a bare LF': v1('PROXY TCP4 192.0.2.7 198.51.100.1 56324 443\n'),
  'v1 with two CRs': v1('PROXY TCP4 192.0.2.7 198.51.100.1 56324 443\r\r\n'),
  'v1 unknown with a bare LF': v1('PROXY UNKNOWN\n'),
  'v1 unknown with a control character': v1('PROXY UNKNOWN \0\r\n'),
  'v1 unknown with a bare CR': v1('PROXY UNKNOWN a\rb\r\n'),
  'v1 longer than it may be': v1(`PROXY UNKNOWN ${'f'.repeat(92)}\r\n`),
  'v1 without an end': v1(`PROXY TCP4 ${'1'.repeat(96)}`),
  'v2 with another signature': Buffer.concat([signature.subarray(0, 11), Buffer.from('X'), version2().subarray(12)]),
  'v2 of version 1': version2({ command: 0x11 }),
  'v2 of version 3': version2({ command: 0x31 }),
  'v2 with another command': version2({ command: 0x22 }),
  'v2 of another family': version2({ family: 0x41 }),
  'v2 of another transport': version2({ family: 0x13 }),
  'v2 without a transport': version2({ family: 0x10 }),
  'v2 without a family': version2({ family: 0x01 }),
  'v2 shorter than its addresses': version2({ length: 11 }),
  'v2 with IPv4 addresses as IPv6': version2({ family: 0x21 }),
  'v2 longer than it may be': version2({ length: 4081 }),
  'v2 health check longer than it may be': version2({ command: 0x20, length: 65_535 }),
  'v2 with bytes behind the addresses': version2({ extensions: [Buffer.from([1, 0])] }),
  'v2 with an extension that ends behind it': version2({ extensions: [extension(0x04, Buffer.alloc(2), 3)] }),
  'v2 with a short TLS extension': version2({ extensions: [extension(0x20, Buffer.from([1, 0, 0, 0]))] }),
  'v2 with a broken TLS extension': version2({ extensions: [tls(1, [extension(0x21, Buffer.alloc(1), 2)])] }),
  'v2 with two TLS extensions': version2({ extensions: [tls(0), tls(1)] }),
  'v2 with a wrong checksum': version2({ extensions: [extension(0x03, Buffer.from('01020304', 'hex'))] }),
  'v2 with a short checksum': version2({ extensions: [extension(0x03, Buffer.alloc(3))] }),
  'v2 with two checksums': version2({
    extensions: [extension(0x03, Buffer.alloc(4)), extension(0x03, Buffer.alloc(4))],
  }),
}
