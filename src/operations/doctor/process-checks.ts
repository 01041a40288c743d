import { processVariables } from '../../config/environment.ts'
import { unknownVariables } from '../../config/keys.ts'
import { plural } from '../../lib/format.ts'
import { compareWithDaemon, findDaemon } from '../../config/running-daemon.ts'
import { failed, passed, warned, type Check } from './finding.ts'

/** Each request in progress holds a client socket, often an origin socket, and a file. */
const recommendedOpenFiles = 4096

export const checkNode: Check = async () => [passed('node', `Node ${process.version}`)]

export const checkConfiguration: Check = async (app) => {
  const { fault, file, config } = app.loaded
  if (fault) return [failed('configuration', fault.message, fault.hint ?? 'Correct the configuration.')]
  if (config.salesChannels.length > 0)
    return [
      passed('configuration', `${file ?? 'without a file'}: ${plural(config.salesChannels.length, 'sales channel')}`),
    ]
  const remedy = 'Run pagecache init, or start with pagecache serve --origin URL.'
  return [warned('configuration', file ? 'No sales channel is configured.' : 'There is no configuration file.', remedy)]
}

/** Whether the running daemon uses the configuration that this command sees. */
export const checkDaemon: Check = async (app) => {
  const daemon = findDaemon(app.loaded.places.dataDir)
  if (daemon === null) return []
  const mismatch = compareWithDaemon(app.loaded, daemon)
  if (mismatch !== null) return [warned('daemon', mismatch.message, mismatch.remedy)]
  return [passed('daemon', `process ${daemon.process.pid} at ${daemon.url} runs with this configuration`)]
}

export const checkVariables: Check = async () =>
  unknownVariables(processVariables()).map(({ name, guess }) =>
    warned(
      'environment variables',
      `${name} is not a known setting and is ignored.`,
      guess ? `Did you mean ${guess}?` : 'Remove it unless another program uses it.',
    ),
  )

/** TLS ends in front of pagecache, so https channels need a trusted proxy. */
export const checkTlsTerminator: Check = async (app) => {
  const { salesChannels, trustedProxies } = app.config
  const encrypted = salesChannels.filter((channel) => channel.url.startsWith('https:'))
  if (encrypted.length === 0 || trustedProxies.length > 0) return []
  const urls = encrypted.map((channel) => channel.url).join(', ')
  const remedy =
    "Add the TLS terminator's address to trustedProxies, and have it send X-Forwarded-Proto and X-Forwarded-For."
  return [warned('tls', `${urls}: no trusted proxy is configured for https, so visitors get a 421.`, remedy)]
}

export const checkOpenFiles: Check = async () => {
  const limit = openFilesLimit()
  if (limit === null) return []
  if (limit >= recommendedOpenFiles) return [passed('open files', `limit ${limit}`)]
  return [
    warned(
      'open files',
      `The limit is ${limit}.`,
      `Raise it to ${recommendedOpenFiles} or more: LimitNOFILE= in the systemd unit, or ulimit -n.`,
    ),
  ]
}

/** The soft limit, which Node raises to the hard limit at start; null if unlimited or unknown. */
function openFilesLimit(): number | null {
  // Otherwise the report resolves the peer of every open socket.
  Object.assign(process.report, { excludeNetwork: true })
  const report = process.report.getReport() as { userLimits?: { open_files?: { soft?: number | string } } }
  const soft = Number(report.userLimits?.open_files?.soft)
  return Number.isInteger(soft) ? soft : null
}
