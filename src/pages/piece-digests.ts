import { hash } from 'node:crypto'

/** A piece of a body, or its digest list, differs from what was stored. */
export class AlteredBody extends Error {}

/** Bytes of a body that are verified together: the least that is read to serve any part of it. */
export const pieceSize = 64 * 1024
const digestSize = 32

/** By way of a string: Node would give each digest a buffer of its own, which costs V8's garbage collector more. */
export function sha256(bytes: Buffer): Buffer {
  return Buffer.from(hash('sha256', bytes, 'binary'), 'latin1')
}

/** Size in bytes of the digest list after a body in its file; 0 for a body of one piece. */
export function listSize(size: number): number {
  return size > pieceSize ? Math.ceil(size / pieceSize) * digestSize : 0
}

/**
 * The digests that verify a body: those of its pieces, stored after the body in its file, and that of the list, stored
 * in the index. A body of one piece has only its own digest, in the index.
 */
export function digestsOf(body: Buffer): { digest: Buffer; list: Buffer } {
  const list = Buffer.allocUnsafeSlow(listSize(body.length))
  if (list.length === 0) return { digest: sha256(body), list }
  for (let at = 0, to = 0; at < body.length; at += pieceSize, to += digestSize)
    sha256(body.subarray(at, at + pieceSize)).copy(list, to)
  return { digest: sha256(list), list }
}

/** The digest of one piece, counted from 0. */
export function digestIn(list: Buffer, piece: number): Buffer {
  return list.subarray(piece * digestSize, (piece + 1) * digestSize)
}
