import { connect, createServer, type AddressInfo, type Socket } from 'node:net'

/** `silent`: connections are accepted and never answered. `refusing`: the port is closed. `slow`: each answer is delayed by this many milliseconds. */
export type RelayMode = 'open' | 'silent' | 'refusing' | { slow: number }

/** A TCP relay to a local server that can fail in the ways in which networks fail. */
export interface Relay {
  url: string
  port: number
  /** Number of connections accepted so far. */
  connections(): number
  /** Also closes the open connections. */
  set(mode: RelayMode): Promise<void>
  /** Leads to another server, and closes the open connections. */
  lead(target: number | string): void
  /** Ends one direction of the open connections; the other one stays open. */
  halfClose(side: 'client' | 'server'): void
  stop(): Promise<void>
}

/** @param target a port of 127.0.0.1, or the path of a Unix socket */
export async function startRelay(target: number | string, first: RelayMode = 'open'): Promise<Relay> {
  const sockets = new Set<Socket>()
  const upstream = new Set<Socket>()
  let [mode, current] = [first, target]
  let connections = 0
  const server = createServer((socket) => {
    connections++
    sockets.add(socket)
    socket.on('close', () => sockets.delete(socket))
    socket.on('error', () => socket.destroy())
    if (mode === 'silent') return void socket.resume()
    const other: Socket = typeof current === 'string' ? connect(current) : connect(current, '127.0.0.1')
    upstream.add(other)
    other.on('close', () => upstream.delete(other))
    other.on('error', () => socket.destroy())
    other.on('close', () => socket.destroy())
    socket.on('close', () => other.destroy())
    socket.pipe(other)
    if (typeof mode === 'object') {
      const { slow } = mode
      other.on('data', (chunk: Buffer) => void setTimeout(() => socket.write(chunk), slow))
    } else other.pipe(socket)
  })
  const listen = (port: number) => new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve))
  const close = () =>
    new Promise<void>((resolve) => {
      server.close(() => resolve())
      for (const socket of sockets) socket.destroy()
    })
  await listen(0)
  const { port } = server.address() as AddressInfo
  if (mode === 'refusing') await close()
  return {
    url: `http://127.0.0.1:${port}`,
    port,
    connections: () => connections,
    async set(next) {
      for (const socket of sockets) socket.destroy()
      if (next === 'refusing' && server.listening) await close()
      mode = next
      if (next !== 'refusing' && !server.listening) await listen(port)
    },
    lead(next) {
      current = next
      for (const socket of sockets) socket.destroy()
    },
    halfClose: (side) => (side === 'client' ? sockets : upstream).forEach((socket) => void socket.end()),
    async stop() {
      if (server.listening) await close()
    },
  }
}
