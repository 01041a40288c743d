import type { Socket } from 'node:net'
import type { View } from '../../cache/hot-views.ts'
import { inFlight } from '../../cache/in-flight.ts'
import { endGently } from './refuse.ts'
import { headText, renderHead } from './render.ts'

/** Bytes. Larger bodies are written after their head instead of being copied into one buffer with it. */
const largestCopied = 64 * 1024

/**
 * From this time on, a view's response is put together once and kept. A view is valid for a second; memory that lives that long is marked by
 * V8's garbage collector, which costs more than putting a few responses together again.
 */
const often = 10
/** Bytes. Larger responses get a buffer of their own the first time too. */
const largestShared = 16 * 1024
/** Where small responses are put together. A client that does not take one at once keeps the buffer, with others that have been in it. */
interface Tray {
  readonly bytes: Buffer
  /** How many of its bytes are in use: clients have not taken them, or they leave at the end of this turn. */
  used: number
  /** How many of these clients have not taken. */
  kept: number
}

const newTray = (size = largestShared): Tray => ({ bytes: Buffer.allocUnsafeSlow(size), used: 0, kept: 0 })
let tray = newTray()

/** What was written. `flushed`: the kernel has taken all of it. */
interface Sent {
  flushed: boolean
  bytes: Buffer
}

/** Writes a page from memory to a socket. `isLast`: adds `Connection: close` and ends the connection. */
export function sendView(socket: Socket, view: View, isLast: boolean): Sent {
  const { status, headers, body } = view
  if (isLast) {
    const head = renderHead(status, [...headers, ['Connection', 'close']])
    // A small body may be part of a larger buffer, which a slow client would keep in memory.
    if (body === null || body.length <= largestCopied) socket.write(Buffer.concat([head, body ?? nothing]))
    else for (const bytes of [head, body]) socket.write(bytes)
    endGently(socket)
    return { flushed: true, bytes: body ?? nothing }
  }
  if (view.fromDisk) return sendAtEndOfTurn(socket, view)
  if (body !== null && body.length > largestCopied) {
    socket.cork()
    socket.write(renderHead(status, headers))
    const flushed = socket.write(body)
    socket.uncork()
    return { flushed, bytes: body }
  }
  if (view.bytes === null && (view.sends += 1) < often) {
    const sent = sendShared(socket, headText(status, headers), body ?? nothing)
    if (sent !== null) return sent
  }
  view.bytes ??= body === null ? renderHead(status, headers) : Buffer.concat([renderHead(status, headers), body])
  return { flushed: socket.write(view.bytes), bytes: view.bytes }
}

/** An answer that leaves at the end of this turn of the event loop. */
interface Held {
  socket: Socket
  /** Where its bytes are, and where they end. */
  tray: Tray
  end: number
}

let held: Held[] = []
/** Answers that the first one waits for at most: two to three milliseconds. */
const mostHeld = 32
/** Trays that nothing refers to. New ones each time would be external memory, for which V8 collects garbage. */
const spare: Tray[] = []

/**
 * Holds what is written to a connection back until the end of this turn. While a page is read from the disk, clients fall asleep, and the kernel
 * wakes a client once for several answers that come together (docs/decisions/0168-answers-from-disk-together.md).
 */
function sendAtEndOfTurn(socket: Socket, { status, headers, body }: View): Sent {
  const head = headText(status, headers)
  const length = head.length + (body?.length ?? 0)
  const into = length > largestShared ? newTray(length) : trayFor(length)
  const bytes = joined(into, length, head, body ?? nothing)
  into.used += length
  socket.cork()
  const flushed = socket.write(bytes)
  if (held.push({ socket, tray: into, end: into.used }) === 1) setImmediate(sendHeld)
  else if (held.length === mostHeld) sendHeld()
  return { flushed, bytes }
}

function sendHeld(): void {
  const answers = held
  held = []
  for (const { socket, tray: from, end } of answers) {
    socket.uncork()
    if (socket.writableLength > 0) from.kept = Math.max(from.kept, end)
  }
  for (const from of new Set(answers.map((answer) => answer.tray))) {
    from.used = from.kept
    const isSpare = from !== tray && from.kept === 0 && from.bytes.length === largestShared
    if (isSpare && spare.length < mostHeld) spare.push(from)
  }
}

/** Sends a response that may not be sent again soon; null if it is too large. */
function sendShared(socket: Socket, head: string, body: Buffer): Sent | null {
  const length = head.length + body.length
  if (length > largestShared) return null
  const into = trayFor(length)
  const bytes = joined(into, length, head, body)
  const flushed = socket.write(bytes)
  // Node writes to the kernel at once if it can, and otherwise keeps a reference to the bytes.
  if (socket.writableLength > 0) into.kept = into.used += length
  return { flushed, bytes }
}

/** The tray with room for an answer. */
function trayFor(length: number): Tray {
  if (tray.used + length > largestShared) tray = spare.pop() ?? newTray()
  return tray
}

/** Puts an answer together behind what is in use. */
function joined({ bytes, used }: Tray, length: number, head: string, body: Buffer): Buffer {
  const answer = bytes.subarray(used, used + length)
  answer.write(head, 'latin1')
  body.copy(answer, head.length)
  return answer
}

const nothing = Buffer.alloc(0)

/**
 * Reads no further request until a slow client has received its answer. Meanwhile `bytes` counts towards the memory of all bodies being
 * sent.
 *
 * @param stall milliseconds until a client that does not read is cut
 * @param idle the connection's time-out afterwards, in milliseconds
 */
export function pauseUntilDrained(
  socket: Socket,
  { stall, idle }: { stall: number; idle: number },
  bytes: Buffer,
): void {
  socket.pause()
  socket.setTimeout(stall)
  holdUntilDrained(socket, bytes)
  socket.once('drain', () => {
    socket.setTimeout(idle)
    socket.resume()
  })
}

/** Counts bytes towards the memory of all bodies being sent, until a slow client has received them. */
export function holdUntilDrained(socket: Socket, bytes: Buffer): void {
  const lease = inFlight.bodies.hold(bytes, () => socket.destroy())
  const release = () => {
    socket.off('close', release).off('drain', release)
    lease.release()
  }
  socket.once('close', release).once('drain', release)
}
