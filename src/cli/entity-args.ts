import * as Args from '@oclif/core/args'
import type { Arg } from '@oclif/core/interfaces'
import { entityTypes, type EntityType } from '../operations/entity.ts'

export const entityTypeArg = Args.string({
  description: 'What it is.',
  options: [...entityTypes],
  required: true,
}) as Arg<EntityType>
