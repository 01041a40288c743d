import type { Channel } from './channel.ts'

/**
 * An endpoint of the daemon itself.
 *
 * - `health`: reports that the daemon is up, to any client under any Host.
 * - `report`: metrics and the API documents.
 * - `operation`: any path of the HTTP API, whether an endpoint exists there or not.
 * - `token`: the token endpoint, which passes the shop's own logins to the shop.
 * - `admin`: a file of the admin page, or its session.
 * - `stage`: a popup endpoint of one channel; `name` is what follows `/vendor-stage/`.
 * - `stray-stage`: a popup endpoint under a Host that has no channel at this path.
 */
export type OwnPath =
  | { kind: 'health' | 'report' | 'operation' | 'token' | 'admin' | 'stray-stage'; path: string }
  | { kind: 'stage'; path: string; channel: Channel; name: string }

const exact = new Map<string, 'health' | 'report' | 'token'>([
  ['/healthz', 'health'],
  ['/readyz', 'health'],
  ['/api/_info/health-check', 'health'],
  ['/api/_info/openapi.json', 'report'],
  ['/api/_info/docs', 'report'],
  ['/metrics', 'report'],
  ['/api/oauth/token', 'token'],
])
const operationPrefixes = ['/api/_action/vendor-cache', '/api/_action/vendor-stage']
const adminPaths = new Set(['/admin', '/admin/', '/admin/admin.js', '/admin/admin.css', '/admin/session'])

/** Path prefix of the popup endpoints, relative to the channel's URL. */
export const stagePrefix = '/vendor-stage'

/**
 * The daemon's own endpoint at a path; null when the path belongs to the shop. Names are compared exactly, including
 * case and slashes (docs/decisions/0044-own-paths.md).
 *
 * @param path canonical (`canonicalPath`)
 * @param channel the channel of the request; null when no channel matches
 * @param isAdminHost whether `/admin` under the request's Host is the admin page
 */
export function ownPathOf(path: string, channel: Channel | null, isAdminHost: () => boolean): OwnPath | null {
  const kind = exact.get(path)
  if (kind !== undefined) return { kind, path }
  if (operationPrefixes.some((prefix) => isBelow(path, prefix))) return { kind: 'operation', path }
  if (channel !== null && isBelow(path, channel.path + stagePrefix))
    return { kind: 'stage', path, channel, name: path.slice(channel.path.length + stagePrefix.length + 1) }
  if (channel === null && isBelow(path, stagePrefix)) return { kind: 'stray-stage', path }
  return adminPaths.has(path) && isAdminHost() ? { kind: 'admin', path } : null
}

function isBelow(path: string, prefix: string): boolean {
  return path.startsWith(prefix) && (path.length === prefix.length || path[prefix.length] === '/')
}
