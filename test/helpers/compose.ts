import { existsSync, readFileSync } from 'node:fs'
import { BlockList } from 'node:net'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parse } from 'yaml'

export const deploy = fileURLToPath(new URL('../../docs/deploy', import.meta.url))

export interface Service {
  image: string
  build?: { context: string; dockerfile: string }
  hostname?: string
  entrypoint?: string[]
  command?: string[]
  ports?: string[]
  environment?: Record<string, string>
  healthcheck?: { disable?: boolean }
  volumes?: string[]
  networks: Record<string, { ipv4_address?: string; aliases?: string[] }>
  depends_on?: Record<string, { condition: string }>
}

export interface Compose<Name extends string> {
  services: Record<Name, Service>
  volumes: Record<string, null>
  networks: Record<string, { ipam: { config: { subnet: string }[] } }>
}

/** The keys that the files use, as the Compose specification names them. */
const known = {
  file: ['name', 'services', 'volumes', 'networks'],
  service: [
    'image',
    'build',
    'hostname',
    'restart',
    'stop_grace_period',
    'environment',
    'entrypoint',
    'command',
    'healthcheck',
    'ports',
    'volumes',
    'networks',
    'depends_on',
  ],
  conditions: ['service_started', 'service_healthy', 'service_completed_successfully'],
}

/** Reads a file of docs/deploy. */
export function readCompose<Name extends string>(file: string): Compose<Name> {
  const text = readFileSync(join(deploy, file), 'utf8')
  const entries = Object.entries(parse(text, { merge: true }) as object)
  return Object.fromEntries(entries.filter(([key]) => !key.startsWith('x-'))) as unknown as Compose<Name>
}

/** Unknown keys, and references to what does not exist. `hasHealthCheck`: whether an image has one of its own. */
export function faultsIn<Name extends string>(
  compose: Compose<Name>,
  hasHealthCheck: (image: string) => boolean,
): string[] {
  const faults = Object.keys(compose).filter((key) => !known.file.includes(key))
  for (const [name, service] of Object.entries<Service>(compose.services))
    for (const fault of faultsOf(service, compose, hasHealthCheck)) faults.push(`${name}: ${fault}`)
  return faults
}

function faultsOf(
  service: Service,
  { services, volumes, networks }: Compose<string>,
  hasHealthCheck: (image: string) => boolean,
): string[] {
  const faults = Object.keys(service).filter((key) => !known.service.includes(key))
  for (const volume of service.volumes ?? []) {
    const [source, target] = volume.split(':') as [string, string]
    const exists = source.startsWith('.') ? existsSync(join(deploy, source)) : source in volumes
    if (!exists || !target.startsWith('/')) faults.push(volume)
  }
  for (const [other, { condition }] of Object.entries(service.depends_on ?? {})) {
    const { healthcheck, image = '' } = services[other] ?? {}
    const isHealthy = healthcheck === undefined ? hasHealthCheck(image) : healthcheck.disable !== true
    if (!(other in services) || !known.conditions.includes(condition)) faults.push(`${other} ${condition}`)
    else if (condition === 'service_healthy' && !isHealthy) faults.push(`${other} has no health check`)
  }
  for (const [name, { ipv4_address: address }] of Object.entries(service.networks)) {
    const subnet = networks[name]?.ipam.config[0]!.subnet.split('/')
    const addresses = new BlockList()
    if (subnet) addresses.addSubnet(subnet[0]!, Number(subnet[1]))
    if (!subnet || (address !== undefined && !addresses.check(address))) faults.push(`${name} ${address}`)
  }
  return faults
}
