import { chmodSync, lstatSync, unlinkSync } from 'node:fs'
import { connect, createServer, Server, type AddressInfo, type Socket } from 'node:net'
import { setImmediate as turn } from 'node:timers/promises'
import { PagecacheError } from '../errors.ts'
import { bracketed } from '../lib/networks.ts'

/** Where the daemon listens. `inherited`: on a socket that is open already (systemd's socket activation). */
export type Place =
  | { kind: 'tcp'; host: string; port: number }
  | { kind: 'unix'; path: string }
  | { kind: 'inherited'; fd: number }

/** The first file descriptor that systemd hands over (sd_listen_fds(3)). */
const firstInherited = 3

/**
 * How many connections may wait for a daemon on an inherited socket: what systemd's Backlog= says does not outlive the first daemon. The
 * kernel takes no more than net.core.somaxconn, which is this much by default.
 */
const inheritedBacklog = 4096

/** Where somebody comes in every turn of the event loop for so long, the rest is left to its fate (milliseconds). */
const longestDrain = 1000

/** The daemon's group may connect: a web server in front that belongs to it. */
const socketMode = 0o660

/** Where a daemon listens that was handed sockets; null where it was handed none. @throws LISTEN_FAILED where they are several */
export function inheritedPlace(count: number): Extract<Place, { kind: 'inherited' }> | null {
  if (count > 1) {
    const hint = 'Name one ListenStream= in the socket unit: a port alone is IPv4 and IPv6.'
    // Nobody would ever answer those who come to the others.
    throw new PagecacheError('LISTEN_FAILED', `${count} open sockets were handed over, and the daemon takes one.`, {
      hint,
    })
  }
  return count === 1 ? { kind: 'inherited', fd: firstInherited } : null
}

/** @throws LISTEN_FAILED when the place is taken or not ours */
export async function listenAt(server: Server, place: Place): Promise<void> {
  await listening(server, place)
}

/**
 * Takes the connections that the kernel has made and nobody has accepted yet, and stops listening in the moment in which there are none:
 * their visitors would be reset. They are served after that; whoever is answered while we look may be the next one to come.
 */
export async function stopListening(server: Server): Promise<void> {
  const serve = server.listeners('connection') as ((socket: Socket) => void)[]
  const came: Socket[] = []
  const hold = (socket: Socket) => {
    socket.pause().on('error', ignore)
    came.push(socket)
  }
  server.removeAllListeners('connection').on('connection', hold)
  const deadline = performance.now() + longestDrain
  for (let seen = -1; seen < came.length && performance.now() < deadline;) {
    seen = came.length
    // A whole turn of the event loop: one connection is accepted in each, and the second one ends right after it was looked for them.
    await turn()
    await turn()
  }
  // What a server of HTTP closes besides, the connections that it takes for idle, would be reset.
  Server.prototype.close.call(server)
  server.off('connection', hold)
  for (const listener of serve) server.on('connection', listener)
  for (const socket of came) {
    socket.off('error', ignore)
    if (socket.readableEnded) socket.destroy()
    if (!socket.destroyed) server.emit('connection', socket)
  }
}

function ignore(): void {}

export function describePlace(place: Place): string {
  switch (place.kind) {
    case 'tcp':
      return `http://${bracketed(place.host)}:${place.port}`
    case 'unix':
      return `unix:${place.path}`
    case 'inherited':
      return `the inherited socket ${place.fd}`
  }
}

/** A port of an address that is free now. @throws LISTEN_FAILED */
export async function freePort(host: string): Promise<number> {
  const server = createServer()
  await listening(server, { kind: 'tcp', host, port: 0 })
  const { port } = server.address() as AddressInfo
  await new Promise((resolve) => server.close(resolve))
  return port
}

function listening(server: Server, place: Place): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) => {
      reject(
        new PagecacheError('LISTEN_FAILED', `Cannot listen on ${nameOf(place)}: ${error.code ?? error.message}`, {
          hint: hintFor(place, error),
          cause: error,
        }),
      )
    })
    const ready = () => {
      if (place.kind === 'unix') chmodSync(place.path, socketMode)
      resolve()
    }
    if (place.kind === 'tcp') server.listen(place.port, place.host, ready)
    else if (place.kind === 'unix') server.listen(place.path, ready)
    else server.listen({ fd: place.fd }, inheritedBacklog, ready)
  })
}

function nameOf(place: Place): string {
  return place.kind === 'tcp' ? `${bracketed(place.host)}:${place.port}` : describePlace(place)
}

const tcpHints: Record<string, string> = {
  EADDRINUSE: 'Another program listens there: stop it, or choose another port with --port or server.port.',
  EACCES:
    'Ports below 1024 want a right of their own: docs/deploy.md has a systemd unit that gives it. Or choose another port with --port or server.port.',
}

function hintFor(place: Place, { code }: NodeJS.ErrnoException): string {
  switch (place.kind) {
    case 'unix':
      return code === 'EADDRINUSE'
        ? 'Another program listens there: stop it, or choose another path with server.socket.'
        : 'Choose a path in a directory that this user may write to with server.socket.'
    case 'inherited':
      return 'Who starts the daemon has to hand over a listening stream socket.'
    case 'tcp':
      return tcpHints[code ?? ''] ?? 'Choose an address of this machine with --host or server.host.'
  }
}

/**
 * Takes a socket away that a killed daemon left behind; what somebody listens on, or is no socket at all, stays. To be done once, before
 * the first process listens: to the second one the socket of the first could look like one that nobody listens on.
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
