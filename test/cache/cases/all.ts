import { ages } from './ages.ts'
import { cacheStatuses } from './cache-status.ts'
import type { Case } from './case.ts'
import { conditional } from './conditional.ts'
import { conditionsOfParts } from './conditions-of-parts.ts'
import { freshness } from './freshness.ts'
import { invalidation } from './invalidation.ts'
import { ranges } from './ranges.ts'
import { requests } from './requests.ts'
import { staleness } from './stale.ts'
import { storing } from './storing.ts'
import { targeted } from './targeted.ts'
import { validation } from './validation.ts'
import { vary } from './vary.ts'

/** All conformance cases. */
export const allCases: readonly Case[] = [
  storing,
  freshness,
  ages,
  vary,
  validation,
  conditional,
  ranges,
  conditionsOfParts,
  invalidation,
  requests,
  staleness,
  targeted,
  cacheStatuses,
].flat()
