import * as z from 'zod/mini'
import type { App } from '../app.ts'
import { described } from './fields.ts'

/** Output field of operations that read the page store of one machine. */
export const ownNode = described(z.optional(z.string()), 'the node whose own pages these are, with several machines')

/** The name of this machine as an output field, if there are several. */
export function toOwnNode({ node }: Pick<App, 'node'>): { node?: string } {
  return node === null ? {} : { node: node.setup.node }
}
