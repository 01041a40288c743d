import { isIP } from 'node:net'
import { bracketed } from '../lib/networks.ts'

/** The public URL of a daemon that listens at an address. */
export function ownUrl(host: string, port: number): string {
  return `http://${bracketed(host)}:${port}`
}

/** The Hosts by which a daemon on this machine is reached without a name of its own: its address, and loopback. */
export function ownHosts(host: string, port: number): Set<string> {
  const suffix = port === 80 ? '' : `:${port}`
  return new Set([
    new URL(ownUrl(host, port)).host,
    ...['127.0.0.1', 'localhost', '[::1]'].map((name) => `${name}${suffix}`),
  ])
}

/**
 * Decides which Hosts the daemon's own endpoints answer. A page whose name an attacker points at the daemon's address (DNS rebinding)
 * sends that name as its Host; no attacker controls an IP address, `localhost`, or a name of the operator's
 * (docs/decisions/0045-hosts-of-own-endpoints.md). Ports do not count.
 *
 * @param names further names or hosts with a port, in any case: of the channels, of the listen address, of `server.names`
 * @returns whether a normalised Host (`normaliseHost`) is one of them
 */
export function knownHosts(names: readonly string[]): (host: string) => boolean {
  const known = new Set(['localhost', ...names.map((name) => hostname(name.toLowerCase()))])
  return (host) => {
    const name = hostname(host)
    return known.has(name) || isIP(name) !== 0
  }
}

/** A Host without its port, brackets and final dot. */
function hostname(host: string): string {
  if (isIP(host) !== 0) return host
  return host
    .replace(/:\d+$/, '')
    .replace(/^\[(.*)\]$/, '$1')
    .replace(/\.$/, '')
}
