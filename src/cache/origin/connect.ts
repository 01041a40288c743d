import { connect as connectPlain, isIP, type OnReadOpts, type Socket } from 'node:net'
import { connect as connectTls } from 'node:tls'

/** Where to connect to. Connections to the same endpoint are interchangeable. */
export interface Endpoint {
  tls: boolean
  host: string
  port: number
  /** The name that the shop's certificate is for: that of the Host field, as the shop itself sees it. */
  servername: string
}

/** @param site the Host field of the requests, where a certificate is checked */
export function endpointOf(origin: string, site: string): Endpoint {
  const { protocol, hostname, port } = new URL(origin)
  const tls = protocol === 'https:'
  return {
    tls,
    host: hostname.startsWith('[') ? hostname.slice(1, -1) : hostname,
    port: port === '' ? (tls ? 443 : 80) : Number(port),
    servername: tls ? (serverName(site) ?? serverName(hostname) ?? '') : '',
  }
}

/** The host in a Host field; null for an address, which no certificate is looked up by. */
function serverName(site: string): string | null {
  if (site === '' || site.startsWith('[')) return null
  const colon = site.indexOf(':')
  const name = colon < 0 ? site : site.slice(0, colon)
  return isIP(name) === 0 ? name : null
}

/** TLS sessions by endpoint, so that a new connection needs no full handshake. */
const sessions = new Map<string, Buffer>()
const mostSessions = 100

const keptAlive = { keepAlive: true, keepAliveInitialDelay: 60_000, noDelay: true }

/**
 * Opens a connection.
 *
 * @param onConnected called when the connection is established and, with TLS, the certificate is verified
 * @param onread where the bytes that come are written
 */
export function openSocket(endpoint: Endpoint, onread: OnReadOpts, onConnected: () => void): Socket {
  const { host, port, servername } = endpoint
  if (!endpoint.tls) return connectPlain({ host, port, onread, ...keptAlive }, onConnected)
  const name = `${host}:${port} ${servername}`
  const session = sessions.get(name)
  return connectTls(
    {
      host,
      port,
      ALPNProtocols: ['http/1.1'],
      ...(servername === '' ? {} : { servername }),
      ...(session === undefined ? {} : { session }),
      ...({ onread, ...keptAlive } as object),
    },
    onConnected,
  ).on('session', (ticket) => {
    sessions.delete(name)
    if (sessions.size >= mostSessions) sessions.delete(sessions.keys().next().value!)
    sessions.set(name, ticket)
  })
}
