import { readFileSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'
import { parseAllDocuments } from 'yaml'
import { ownPathOf } from '../../src/cache/own-path.ts'
import { loadConfig } from '../../src/config/load.ts'
import { faultsOf } from '../helpers/kubernetes.ts'
import { tempDir } from '../helpers/temp-dir.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))
const read = (path: string) => readFileSync(join(root, path), 'utf8')

interface Container {
  name: string
  image: string
  args: string[]
  env: { name: string; value: string }[]
  envFrom: { secretRef: { name: string } }[]
  ports?: { name: string; containerPort: number }[]
  volumeMounts: { name: string; mountPath: string }[]
  startupProbe?: Probe
  livenessProbe?: Probe
  readinessProbe?: Probe
}

interface Probe {
  httpGet: { path: string; port: string }
}

interface PodTemplate {
  metadata: { labels: Record<string, string> }
  spec: {
    terminationGracePeriodSeconds?: number
    enableServiceLinks: boolean
    containers: [Container]
    volumes: { name: string; configMap?: { name: string } }[]
  }
}

interface Workload {
  kind: string
  metadata: { name: string }
  spec: {
    template: PodTemplate
    serviceName?: string
    selector?: { matchLabels: Record<string, string> }
    volumeClaimTemplates?: { metadata: { name: string }; spec: { resources: { requests: { storage: string } } } }[]
  }
}

const manifests = parseAllDocuments(read('docs/deploy/kubernetes.yaml')).map((each) => each.toJS() as object)

/** The manifest of a kind and a name. */
function find<T = Workload>(kind: string, name = 'pagecache'): T {
  const found = manifests.filter((each) => {
    const { kind: itsKind, metadata } = each as Workload
    return itsKind === kind && metadata.name === name
  })
  expect(found, `${kind} ${name}`).toHaveLength(1)
  return found[0] as T
}

const nodes = find('StatefulSet')
const consumers = find('Deployment', 'pagecache-consumer')
const migration = find('Job', 'pagecache-migrate')
const workloads = [nodes, consumers, migration]
const containerOf = ({ spec }: Workload) => spec.template.spec.containers[0]

/** The configuration that a container of the manifest gets. */
async function configOf(workload: Workload) {
  const { data } = find<{ data: Record<string, string> }>('ConfigMap')
  const { stringData } = find<{ stringData: Record<string, string> }>('Secret')
  const cwd = await tempDir()
  for (const [name, text] of Object.entries(data)) await writeFile(join(cwd, name), text)
  const variables = Object.fromEntries(containerOf(workload).env.map(({ name, value }) => [name, value]))
  const config = variables['PAGECACHE_CONFIG']!.replace('/etc/pagecache', cwd)
  // As the image sets it.
  const image = { PAGECACHE_SERVER_HOST: '0.0.0.0' }
  return (await loadConfig({}, { cwd, variables: { ...image, ...stringData, ...variables, PAGECACHE_CONFIG: config } }))
    .config
}

it('every manifest is valid by the schemas of Kubernetes', () => {
  expect(manifests).toHaveLength(10)
  for (const manifest of manifests) expect(faultsOf(manifest)).toEqual([])
})

it('finds wrong values, and unknown fields wherever they are', () => {
  const objectsIn = (value: unknown): Record<string, unknown>[] => {
    if (typeof value !== 'object' || value === null) return []
    const inner = Object.values(value).flatMap(objectsIn)
    return Array.isArray(value) ? inner : [value as Record<string, unknown>, ...inner]
  }
  for (const manifest of structuredClone(manifests)) {
    for (const object of objectsIn(manifest)) {
      object['mistaken'] = { deeply: true }
      expect(faultsOf(manifest), JSON.stringify(object)).not.toEqual([])
      delete object['mistaken']
    }
  }
  const wrong = structuredClone(nodes) as unknown as { spec: { replicas: unknown } }
  wrong.spec.replicas = '3'
  expect(faultsOf(wrong)).toEqual(['data/spec/replicas must be integer'])
  expect(faultsOf({ apiVersion: 'apps/v2', kind: 'StatefulSet' })).toEqual(['unknown kind apps/v2 StatefulSet'])
})

it('the configuration is valid, and fits the containers', async () => {
  const { server, warmup, cache, records } = await configOf(nodes)
  expect([records.url, cache.shared.url]).not.toContain(null)
  expect([server.host, containerOf(nodes).ports]).toEqual(['0.0.0.0', [{ name: 'http', containerPort: server.port }]])
  const grace = ({ spec }: Workload) => spec.template.spec.terminationGracePeriodSeconds! * 1000
  expect(grace(nodes)).toBeGreaterThan(server.stopDelay + server.stopGrace)
  expect(grace(consumers)).toBeGreaterThan(warmup.timeout)
  const [claim] = nodes.spec.volumeClaimTemplates!
  expect(claim!.spec.resources.requests.storage).toBe('20Gi')
  expect(cache.maxSize).toBeLessThan(20 * 1024 ** 3)
  expect((await configOf(consumers)).cache.maxSize).toBe(1024 ** 3)
  expect((await configOf(migration)).records.url).toBe(records.url)
})

it('the commands and their flags exist', () => {
  const { commands } = JSON.parse(read('oclif.manifest.json')) as {
    commands: Record<string, { flags: Record<string, { allowNo?: boolean }> }>
  }
  const run = workloads.map((workload) => {
    const [command, ...flags] = containerOf(workload).args
    expect(commands).toHaveProperty([command!])
    const known = Object.keys(commands[command!]!.flags)
    for (const flag of flags) expect(known).toContain(/^--([\w-]+)/.exec(flag)![1])
    return command
  })
  expect(run).toEqual(['serve', 'messenger:consume', 'records:migrate'])
})

it('the probes ask for endpoints of the daemon that need no name', () => {
  const { startupProbe, livenessProbe, readinessProbe } = containerOf(nodes)
  const probes = [startupProbe!, livenessProbe!, readinessProbe!].map(({ httpGet }) => httpGet)
  expect(probes.map(({ path }) => path)).toEqual(['/healthz', '/healthz', '/readyz'])
  for (const { path, port } of probes) {
    expect(ownPathOf(path, null, () => false)).toEqual({ kind: 'health', path })
    expect(port).toBe('http')
  }
})

it('the parts find each other', async () => {
  const labelsOf = ({ spec }: Workload) => spec.template.metadata.labels
  const image = containerOf(nodes).image
  for (const workload of workloads) {
    const container = containerOf(workload)
    const { volumes, enableServiceLinks } = workload.spec.template.spec
    expect([container.image, enableServiceLinks]).toEqual([image, false])
    expect(container.envFrom).toEqual([{ secretRef: { name: 'pagecache' } }])
    const claims = (workload.spec.volumeClaimTemplates ?? []).map(({ metadata }) => metadata.name)
    expect(container.volumeMounts.map(({ name }) => name)).toEqual([...volumes.map(({ name }) => name), ...claims])
    expect(volumes.find(({ name }) => name === 'config')!.configMap).toEqual({ name: 'pagecache' })
    // The volume of the image, and the directory that PAGECACHE_CONFIG names.
    expect(container.volumeMounts.map(({ mountPath }) => mountPath)).toEqual(['/etc/pagecache', '/srv/pagecache/var'])
    if (workload.spec.selector) expect(labelsOf(workload)).toEqual(workload.spec.selector.matchLabels)
  }
  expect(read('docs/deploy/Containerfile')).toContain('VOLUME /srv/pagecache/var')

  type Service = { spec: { selector: object; ports: { port: number; targetPort: string }[] } }
  for (const name of ['pagecache', nodes.spec.serviceName!]) {
    const { spec } = find<Service>('Service', name)
    expect([spec.selector, spec.ports[0]!.targetPort]).toEqual([labelsOf(nodes), 'http'])
  }
  type Selecting = { spec: { selector: { matchLabels: object }; podSelector: { matchLabels: object } } }
  expect(find<Selecting>('PodDisruptionBudget').spec.selector.matchLabels).toEqual(labelsOf(nodes))
  for (const workload of workloads)
    expect(labelsOf(workload)).toMatchObject(find<Selecting>('NetworkPolicy').spec.podSelector.matchLabels)

  const { salesChannels, server } = await configOf(nodes)
  type Rule = { host: string; http: { paths: { backend: { service: { name: string } } }[] } }
  const { rules } = find<{ spec: { rules: Rule[] } }>('Ingress').spec
  expect(rules.map(({ host }) => `https://${host}`)).toEqual(salesChannels.map(({ url }) => url))
  const backend = rules[0]!.http.paths[0]!.backend.service.name
  find('Service', backend)
  expect(server.names).toEqual([backend])
})
