import { Deployment, StatefulSet } from 'kubernetes-models/apps/v1'
import { Job } from 'kubernetes-models/batch/v1'
import { Ingress, NetworkPolicy } from 'kubernetes-models/networking.k8s.io/v1'
import { PodDisruptionBudget } from 'kubernetes-models/policy/v1'
import { ConfigMap, Secret, Service } from 'kubernetes-models/v1'

const kinds = [ConfigMap, Secret, Service, Job, StatefulSet, Deployment, PodDisruptionBudget, NetworkPolicy, Ingress]

/** The faults of a manifest by the schemas of Kubernetes, with unknown fields; empty for a valid one. */
export function faultsOf(manifest: object): string[] {
  const { apiVersion, kind } = manifest as { apiVersion?: unknown; kind?: unknown }
  const Kind = kinds.find((each) => each.kind === kind && each.apiVersion === apiVersion)
  if (Kind === undefined) return [`unknown kind ${String(apiVersion)} ${String(kind)}`]
  const read = new Set<string>()
  try {
    // The constructor would copy the fields.
    Kind.prototype.validate.call(watch(manifest, '', read))
  } catch (error) {
    return [(error as Error).message]
  }
  return pathsIn(manifest, '')
    .filter((path) => !read.has(path))
    .map((path) => `unknown field ${path}`)
}

/** Notes which fields are read: the validation reads those that the schema knows, and ignores the others. */
function watch<T extends object>(value: T, path: string, read: Set<string>): T {
  return new Proxy(value, {
    get(target, name, receiver) {
      const found: unknown = Reflect.get(target, name, receiver)
      if (typeof name === 'symbol' || !Object.hasOwn(target, name)) return found
      read.add(`${path}/${name}`)
      return typeof found === 'object' && found !== null ? watch(found, `${path}/${name}`, read) : found
    },
  })
}

function pathsIn(value: unknown, path: string): string[] {
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([name, inner]) => [`${path}/${name}`, ...pathsIn(inner, `${path}/${name}`)])
}
