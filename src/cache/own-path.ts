import type { Channel } from './channel.ts'

/**
 * An endpoint of the daemon itself.
 *
 * - `health`: says that the daemon is up, to any client under any Host.
 * - `report`: metrics and the documents of the API.
 * - `operation`: a path of the HTTP API, whether an endpoint exists there or not.
 * - `token`: the token endpoint, which hands the shop's own logins on to the shop.
 * - `admin`: a file of the operators' page.
 * - `stage`: a popup endpoint of one channel; `name` is what follows `/vendor-stage/`.
 */
export type OwnPath =
  | { kind: 'health' | 'report' | 'operation' | 'token' | 'admin'; path: string }
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
const adminPaths = new Set(['/admin', '/admin/', '/admin/admin.js', '/admin/admin.css'])

/** The popup endpoints of a channel, relative to its URL. */
export const stagePrefix = '/vendor-stage'

/**
 * The endpoint that a path names; null where the path is the shop's. Names are compared exactly, case and slashes included
 * (docs/decisions/0044-own-paths.md).
 *
 * @param path canonical (`canonicalPath`)
 * @param channel the channel of the request; null where Host and path name none
 * @param isAdminHost whether `/admin` under the Host of the request is the operators' page
 */
export function ownPathOf(path: string, channel: Channel | null, isAdminHost: () => boolean): OwnPath | null {
  const kind = exact.get(path)
  if (kind !== undefined) return { kind, path }
  if (operationPrefixes.some((prefix) => isBelow(path, prefix))) return { kind: 'operation', path }
  if (channel !== null && isBelow(path, channel.path + stagePrefix))
    return { kind: 'stage', path, channel, name: path.slice(channel.path.length + stagePrefix.length + 1) }
  return adminPaths.has(path) && isAdminHost() ? { kind: 'admin', path } : null
}

function isBelow(path: string, prefix: string): boolean {
  return path.startsWith(prefix) && (path.length === prefix.length || path[prefix.length] === '/')
}
