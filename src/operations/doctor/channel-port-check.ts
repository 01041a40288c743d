import { connect } from 'node:net'
import type { Config } from '../../config/schema.ts'
import { portOf } from '../../lib/url.ts'
import { checkTimeout } from './probe.ts'
import { passed, warned, type Check, type Finding } from './finding.ts'

/** Checks that the public port of each channel is open: by the daemon, or by a web server in front of it. */
export const checkChannelPorts: Check = async (app, signal) => {
  const { salesChannels, server } = app.config
  // Port 0 is chosen at start.
  if (server.port === 0 && server.socket === null) return []
  const origins = new Set(salesChannels.map((channel) => new URL(channel.url).origin))
  return (await Promise.all([...origins].map((origin) => checkOrigin(new URL(origin), server, signal)))).flat()
}

async function checkOrigin(origin: URL, server: Config['server'], signal: AbortSignal): Promise<Finding[]> {
  const port = portOf(origin)
  // checkPort covers the daemon's own port.
  if (origin.protocol === 'http:' && server.socket === null && port === server.port) return []
  const name = `port of ${origin.origin}`
  const code = await connectError(origin.hostname.replace(/^\[|\]$/g, ''), port, signal)
  if (code === null) return [passed(name, `port ${port} is open`)]
  const daemon = server.socket ?? `port ${server.port}`
  // If the name does not resolve here, the port is tried on this machine.
  const unresolved = code === 'ENOTFOUND' || code === 'EAI_AGAIN'
  if (unresolved && (await connectError('127.0.0.1', port, signal)) === null)
    return [passed(name, `port ${port} is open on this machine`)]
  const why = unresolved
    ? `The host name does not resolve here, and port ${port} of this machine is closed`
    : `Could not connect to port ${port} (${code})`
  const remedy =
    origin.protocol === 'http:' && server.socket === null
      ? `Set server.port to ${port}, or have a web server forward port ${port} to the daemon.`
      : `Have a web server forward port ${port} to the daemon.`
  return [warned(name, `${why}; the daemon listens on ${daemon}.`, remedy)]
}

/** Tries to connect. Returns the system's error code, or null on success. */
function connectError(host: string, port: number, signal: AbortSignal): Promise<string | null> {
  const { promise, resolve } = Promise.withResolvers<string | null>()
  const socket = connect({ host, port, signal: AbortSignal.any([signal, AbortSignal.timeout(checkTimeout)]) })
  socket.once('connect', () => resolve(null))
  // An AggregateError of several addresses has the code of the first.
  socket.once('error', (error: NodeJS.ErrnoException) =>
    resolve(error.name === 'AbortError' ? 'timeout' : (error.code ?? error.message)),
  )
  socket.once('connect', () => socket.destroy())
  return promise
}
