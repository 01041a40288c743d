import { trimEndingSlashes, basicAuthorization } from '../lib/url.ts'

/** A sales channel: its public URL and the origin of its shop. */
export interface Channel {
  id: string
  name: string
  scheme: string
  /** Lower case, with a port unless it is the scheme's default. */
  host: string
  /** Path prefix without a trailing slash; empty for a channel at the root. */
  path: string
  /** Scheme, host and path prefix. */
  url: string
  /** Scheme, host and port of the shop. */
  origin: string
  /** The Authorization value for the shop when its origin URL has credentials; else null. */
  authorization: string | null
}

export interface ChannelOptions {
  id: string
  name: string
  url: string
  origin: string
}

const defaultPorts: Record<string, string> = { http: '80', https: '443' }

/** Lower-cases a Host and drops the default port of the scheme; null for an invalid host (RFC 9110 §7.2). */
export function normaliseHost(host: string, scheme: string): string | null {
  if (host.length > 255 || !/^(?:[a-z0-9_](?:[a-z0-9_.-]*[a-z0-9_])?\.?|\[[0-9a-f:.]+\])(?::\d{1,5})?$/i.test(host))
    return null
  const [, name, port] = /^(.*?)(?::(\d+))?$/.exec(host.toLowerCase())!
  if (port !== undefined && (Number(port) > 65_535 || Number(port) === 0)) return null
  const bare = name!.replace(/\.$/, '')
  return port === undefined || port === defaultPorts[scheme] ? bare : `${bare}:${Number(port)}`
}

export function toChannel(options: ChannelOptions): Channel {
  const url = new URL(options.url)
  const origin = new URL(options.origin)
  const scheme = url.protocol.slice(0, -1)
  const path = trimEndingSlashes(url.pathname)
  return {
    id: options.id,
    name: options.name,
    scheme,
    host: url.host,
    path,
    url: `${scheme}://${url.host}${path}`,
    origin: origin.origin,
    authorization: basicAuthorization(origin),
  }
}
