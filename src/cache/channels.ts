import type { Channel } from './channel.ts'
import { ownPathOf, type OwnPath } from './own-path.ts'

/** Finds the channel of a request as Shopware does: exact match, else the longest prefix of the channel URLs. */
export class Channels {
  readonly all: readonly Channel[]
  readonly #bySite = new Map<string, Channel[]>()
  readonly #hosts: ReadonlySet<string>
  readonly #ownHosts: ReadonlySet<string>

  /**
   * @param aliases other hosts of the daemon's own address, each mapped to the host that it stands for
   * @param ownHosts hosts of the daemon's own address, which serve `/admin` even when a channel has the same host
   */
  constructor(
    channels: readonly Channel[],
    aliases: ReadonlyMap<string, string> = new Map(),
    ownHosts: ReadonlySet<string> = new Set(),
  ) {
    this.all = channels
    this.#hosts = new Set(channels.map((channel) => channel.host))
    this.#ownHosts = ownHosts
    for (const channel of channels.toSorted((a, b) => b.path.length - a.path.length)) {
      const site = `${channel.scheme}://${channel.host}`
      this.#bySite.set(site, [...(this.#bySite.get(site) ?? []), channel])
    }
    for (const [alias, host] of aliases) {
      const own = this.#bySite.get(`http://${host}`)
      if (own && !this.#bySite.has(`http://${alias}`)) this.#bySite.set(`http://${alias}`, own)
    }
  }

  find(scheme: string, host: string, path: string): Channel | null {
    const site = this.#bySite.get(`${scheme}://${host}`)
    if (site === undefined) return null
    for (const channel of site) {
      if (channel.path === '' || path === channel.path || path.startsWith(`${channel.path}/`)) return channel
    }
    return null
  }

  /**
   * The daemon's own endpoint at a canonical path; null when the path belongs to the shop. The front, the hot path, upgrades, the warmup
   * and `cache:inspect` all decide here, so that an own path is never requested from the shop, stored or looked up.
   */
  ownPath(scheme: string, host: string, path: string): OwnPath | null {
    return ownPathOf(path, this.find(scheme, host, path), () => this.#ownHosts.has(host) || !this.#hosts.has(host))
  }

  /** The channel of an absolute URL and the request target below it; null when no channel has the URL. */
  locate(url: string): { channel: Channel; target: string } | null {
    if (!URL.canParse(url)) return null
    const parsed = new URL(url)
    if (parsed.username !== '' || parsed.password !== '') return null
    const channel = this.find(parsed.protocol.slice(0, -1), parsed.host, parsed.pathname)
    return channel === null ? null : { channel, target: `${parsed.pathname}${parsed.search}` }
  }
}
