import { processVariables } from '../../config/environment.ts'
import { unknownVariables } from '../../config/keys.ts'
import { plural } from '../../lib/plural.ts'
import { failed, passed, warned, type Check } from './finding.ts'

/** Each visitor in flight holds a socket to him, often one to the origin, and a file. */
const wantedOpenFiles = 4096

export const checkNode: Check = async () => [passed('node', `Node ${process.version}`)]

export const checkConfiguration: Check = async (app) => {
  const { fault, file, config } = app.loaded
  if (fault) return [failed('configuration', fault.message, fault.hint ?? 'Correct the configuration.')]
  if (config.salesChannels.length > 0)
    return [
      passed(
        'configuration',
        `${file ?? 'environment variables'}: ${plural(config.salesChannels.length, 'sales channel')}`,
      ),
    ]
  const remedy = 'Write one with pagecache init, or start with pagecache serve --origin URL.'
  return [warned('configuration', file ? 'No sales channel is configured.' : 'There is no configuration file.', remedy)]
}

export const checkVariables: Check = async () =>
  unknownVariables(processVariables()).map(({ name, guess }) =>
    warned(
      'environment variables',
      `${name} is no setting and is ignored.`,
      guess ? `Did you mean ${guess}?` : 'Remove it, unless something else uses it.',
    ),
  )

/** https channels end their TLS before us; whoever does that has to be believed. */
export const checkTlsTerminator: Check = async (app) => {
  const { salesChannels, trustedProxies } = app.config
  const encrypted = salesChannels.filter((channel) => channel.url.startsWith('https:'))
  if (encrypted.length === 0 || trustedProxies.length > 0) return []
  const urls = encrypted.map((channel) => channel.url).join(', ')
  const remedy =
    "Put the TLS terminator's address into trustedProxies, and have it send X-Forwarded-Proto and X-Forwarded-For."
  return [
    warned('tls', `${urls} is https, but no proxy is trusted to say so: its visitors will be answered 421.`, remedy),
  ]
}

export const checkOpenFiles: Check = async () => {
  const limit = openFilesLimit()
  if (limit === null) return []
  if (limit >= wantedOpenFiles) return [passed('open files', `limit ${limit}`)]
  return [
    warned(
      'open files',
      `The limit is ${limit}.`,
      `Raise it to ${wantedOpenFiles} or more: LimitNOFILE= in the systemd unit, or ulimit -n.`,
    ),
  ]
}

/** The soft limit, which Node has raised to the hard one at its start; null where it is unlimited or unknown. */
function openFilesLimit(): number | null {
  // Otherwise the report asks the name service about every open socket.
  Object.assign(process.report, { excludeNetwork: true })
  const report = process.report.getReport() as { userLimits?: { open_files?: { soft?: number | string } } }
  const soft = Number(report.userLimits?.open_files?.soft)
  return Number.isInteger(soft) ? soft : null
}
