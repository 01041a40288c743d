import { isIP } from 'node:net'
import { bracketed } from '../lib/networks.ts'

/** The Host values of a daemon on this machine without a name: its listen address and loopback. */
export function ownHosts(host: string, port: number): Set<string> {
  const suffix = port === 80 ? '' : `:${port}`
  return new Set([
    new URL(`http://${bracketed(host)}:${port}`).host,
    ...['127.0.0.1', 'localhost', '[::1]'].map((name) => `${name}${suffix}`),
  ])
}

/**
 * Decides for which Host values the daemon serves its own endpoints. A DNS rebinding attack points an attacker's name
 * at the daemon's address and sends that name as Host. An attacker cannot control an IP address, `localhost` or a name
 * of the operator (docs/decisions/0045-hosts-of-own-endpoints.md). Ports are ignored.
 *
 * @param names allowed names, with or without a port, in any case: of the channels, of the listen address, of
 *   `server.names`
 * @returns whether a normalised Host (`normaliseHost`) is allowed
 */
export function knownHosts(names: readonly string[]): (host: string) => boolean {
  const known = new Set(['localhost', ...names.map((name) => hostname(name.toLowerCase()))])
  return (host) => {
    const name = hostname(host)
    return known.has(name) || isIP(name) !== 0
  }
}

/** A Host without port, brackets and trailing dot. */
function hostname(host: string): string {
  if (isIP(host) !== 0) return host
  return host
    .replace(/:\d+$/, '')
    .replace(/^\[(.*)\]$/, '$1')
    .replace(/\.$/, '')
}
