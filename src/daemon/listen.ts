import { chmodSync, lstatSync, unlinkSync } from 'node:fs'
import { connect, createServer, Server, type AddressInfo, type Socket } from 'node:net'
import { setImmediate as turn } from 'node:timers/promises'
import { PagecacheError } from '../errors.ts'
import { bracketed } from '../lib/networks.ts'

/** The address that the daemon listens on. `inherited`: a socket that systemd has opened (socket activation). */
export type ListenAddress =
  | { kind: 'tcp'; host: string; port: number }
  | { kind: 'unix'; path: string }
  | { kind: 'inherited'; fd: number }

/** The first file descriptor that systemd passes (sd_listen_fds(3)). */
const firstInherited = 3

/**
 * Backlog of an inherited socket: systemd's Backlog= is lost after the first daemon. The kernel caps it at net.core.somaxconn, whose
 * default this is.
 */
const inheritedBacklog = 4096

/** Milliseconds after which the backlog is no longer drained even if connections keep arriving. */
const maxDrain = 1000

/** Lets the daemon's group connect, such as a web server in front. */
const socketMode = 0o660

/**
 * The address of an inherited socket; null without one.
 *
 * @throws LISTEN_FAILED for several sockets
 */
export function inheritedAddress(count: number): Extract<ListenAddress, { kind: 'inherited' }> | null {
  if (count > 1) {
    const hint = 'Use one ListenStream= in the socket unit. A port alone covers IPv4 and IPv6.'
    // Connections to the other sockets would never be answered.
    throw new PagecacheError('LISTEN_FAILED', `Received ${count} sockets from systemd; the daemon supports one.`, {
      hint,
    })
  }
  return count === 1 ? { kind: 'inherited', fd: firstInherited } : null
}

/** Listens on an address. @throws LISTEN_FAILED when it is in use or not permitted */
export async function listenAt(server: Server, address: ListenAddress): Promise<void> {
  await listening(server, address)
}

/**
 * Stops listening without resetting the connections in the backlog: accepts until the backlog is empty, closes the listening socket, and
 * then serves the accepted connections. They are held until then, because a client that gets an answer may connect again at once.
 */
export async function stopListening(server: Server): Promise<void> {
  const listeners = server.listeners('connection') as ((socket: Socket) => void)[]
  const held: Socket[] = []
  const hold = (socket: Socket) => {
    socket.pause().on('error', ignore)
    held.push(socket)
  }
  server.removeAllListeners('connection').on('connection', hold)
  const deadline = performance.now() + maxDrain
  for (let seen = -1; seen < held.length && performance.now() < deadline;) {
    seen = held.length
    // Node accepts one connection per turn of the event loop. The second turn ends right after the poll for connections.
    await turn()
    await turn()
  }
  // An HTTP server's own `close` would also reset the connections that it considers idle.
  Server.prototype.close.call(server)
  server.off('connection', hold)
  for (const listener of listeners) server.on('connection', listener)
  for (const socket of held) {
    socket.off('error', ignore)
    if (socket.readableEnded) socket.destroy()
    if (!socket.destroyed) server.emit('connection', socket)
  }
}

function ignore(): void {}

/** Renders an address for people. */
export function describeAddress(address: ListenAddress): string {
  switch (address.kind) {
    case 'tcp':
      return `http://${bracketed(address.host)}:${address.port}`
    case 'unix':
      return `unix:${address.path}`
    case 'inherited':
      return `inherited socket ${address.fd}`
  }
}

/** Finds a free TCP port. @throws LISTEN_FAILED */
export async function freePort(host: string): Promise<number> {
  const server = createServer()
  await listening(server, { kind: 'tcp', host, port: 0 })
  const { port } = server.address() as AddressInfo
  await new Promise((resolve) => server.close(resolve))
  return port
}

function listening(server: Server, address: ListenAddress): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) => {
      reject(
        new PagecacheError('LISTEN_FAILED', `Cannot listen on ${nameOf(address)}: ${error.code ?? error.message}`, {
          hint: hintFor(address, error),
          cause: error,
        }),
      )
    })
    const ready = () => {
      if (address.kind === 'unix') chmodSync(address.path, socketMode)
      resolve()
    }
    if (address.kind === 'tcp') server.listen(address.port, address.host, ready)
    else if (address.kind === 'unix') server.listen(address.path, ready)
    else server.listen({ fd: address.fd }, inheritedBacklog, ready)
  })
}

function nameOf(address: ListenAddress): string {
  return address.kind === 'tcp' ? `${bracketed(address.host)}:${address.port}` : describeAddress(address)
}

const tcpHints: Record<string, string> = {
  EADDRINUSE: 'Another program uses this port. Stop it, or choose another port with --port or server.port.',
  EACCES:
    'Ports below 1024 need a privilege. docs/deploy.md has a systemd unit that grants it. Or choose another port with --port or server.port.',
}

function hintFor(address: ListenAddress, { code }: NodeJS.ErrnoException): string {
  switch (address.kind) {
    case 'unix':
      return code === 'EADDRINUSE'
        ? 'Another program uses this socket. Stop it, or choose another path with server.socket.'
        : 'Set server.socket to a path in a directory that this user can write to.'
    case 'inherited':
      return 'The service manager must pass a listening stream socket.'
    case 'tcp':
      return tcpHints[code ?? ''] ?? 'Choose an address of this machine with --host or server.host.'
  }
}

/**
 * Removes a socket that a killed daemon has left behind. Keeps a socket in use, and any other file. Call it once, before the first process
 * listens: a second process could mistake the first one's socket for a stale one.
 */
export async function removeStale(path: string): Promise<void> {
  if (lstatSync(path, { throwIfNoEntry: false })?.isSocket() !== true) return
  const alive = await new Promise<boolean>((resolve) => {
    const probe = connect(path)
    probe.once('connect', () => (probe.destroy(), resolve(true)))
    probe.once('error', (error: NodeJS.ErrnoException) => resolve(error.code !== 'ECONNREFUSED'))
  })
  if (!alive) unlinkSync(path)
}
