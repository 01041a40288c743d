import type { IncomingMessage } from 'node:http'

/** Milliseconds between two checks of all uploads. */
const interval = 10_000
/** Bytes that must arrive between two checks while the daemon is reading. */
const minBytes = 500

interface Upload {
  request: IncomingMessage
  onStall(): void
  /** Bytes of the connection at the last check; null before the first. */
  seen: number | null
}

const uploads = new Set<Upload>()
/** One timer for all uploads, since most end long before it fires. */
let checking: NodeJS.Timeout | null = null

/**
 * Calls `onStall` when a request body arrives so slowly that it merely occupies a connection (a "slow POST" attack), ten to twenty seconds
 * after it has slowed down. An upload that waits because the shop reads slowly does not count.
 */
export function watchBody(request: IncomingMessage, onStall: () => void): void {
  const upload: Upload = { request, onStall, seen: null }
  uploads.add(upload)
  checking ??= setInterval(checkUploads, interval).unref()
  const stop = () => uploads.delete(upload)
  request.once('end', stop)
  request.once('close', stop)
}

function checkUploads(): void {
  for (const upload of uploads) {
    const { request, seen } = upload
    const read = request.socket.bytesRead
    const isBlocked = request.readableLength > 0 || request.isPaused()
    upload.seen = read
    if (isBlocked || seen === null || read - seen >= minBytes) continue
    uploads.delete(upload)
    upload.onStall()
  }
  if (uploads.size > 0 || checking === null) return
  clearInterval(checking)
  checking = null
}
