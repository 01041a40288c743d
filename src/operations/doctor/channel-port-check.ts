import { connect } from 'node:net'
import type { Config } from '../../config/schema.ts'
import { portOf } from '../../lib/port-of.ts'
import { patience } from './ask.ts'
import { passed, warned, type Check, type Finding } from './finding.ts'

/** Whether visitors find anybody at the ports that they type: the daemon, or a web server in front of it. */
export const checkChannelPorts: Check = async (app, signal) => {
  const { salesChannels, server } = app.config
  // Port 0 is any that is free: nobody can know it beforehand.
  if (server.port === 0 && server.socket === null) return []
  const origins = new Set(salesChannels.map((channel) => new URL(channel.url).origin))
  return (await Promise.all([...origins].map((origin) => checkOrigin(new URL(origin), server, signal)))).flat()
}

async function checkOrigin(origin: URL, server: Config['server'], signal: AbortSignal): Promise<Finding[]> {
  const port = portOf(origin)
  // The daemon's own port is checked by itself, whether it runs or not.
  if (origin.protocol === 'http:' && server.socket === null && port === server.port) return []
  const name = `port of ${origin.origin}`
  const fault = await knock(origin.hostname.replace(/^\[|\]$/g, ''), port, signal)
  if (fault === null) return [passed(name, `someone listens at port ${port}`)]
  const own = server.socket ?? `port ${server.port}`
  // A name that is not known here says nothing about the port: then this machine is asked.
  const isHere = fault === 'ENOTFOUND' || fault === 'EAI_AGAIN'
  if (isHere && (await knock('127.0.0.1', port, signal)) === null)
    return [passed(name, `someone listens at port ${port} of this machine`)]
  const why = isHere
    ? `Its name is not known here, and nothing listens at port ${port} of this machine`
    : `Nothing answers at port ${port} (${fault})`
  const remedy =
    origin.protocol === 'http:' && server.socket === null
      ? `Set server.port to ${port}, or have a web server forward that port to the daemon.`
      : `Have a web server that listens at port ${port} forward requests to the daemon.`
  return [warned(name, `${why}; the daemon listens at ${own}.`, remedy)]
}

/** Null where a connection can be opened, else the system's code. */
function knock(host: string, port: number, signal: AbortSignal): Promise<string | null> {
  const { promise, resolve } = Promise.withResolvers<string | null>()
  const socket = connect({ host, port, signal: AbortSignal.any([signal, AbortSignal.timeout(patience)]) })
  socket.once('connect', () => resolve(null))
  // Several addresses that refuse come as one error, whose code is that of the first.
  socket.once('error', (error: NodeJS.ErrnoException) =>
    resolve(error.name === 'AbortError' ? 'no answer in time' : (error.code ?? error.message)),
  )
  socket.once('connect', () => socket.destroy())
  return promise
}
