import { ages } from './ages.ts'
import type { Case } from './case.ts'
import { conditional } from './conditional.ts'
import { freshness } from './freshness.ts'
import { invalidation } from './invalidation.ts'
import { ranges } from './ranges.ts'
import { storing } from './storing.ts'
import { validation } from './validation.ts'
import { vary } from './vary.ts'

/** The whole table. */
export const allCases: readonly Case[] = [storing, freshness, ages, vary, validation, conditional, ranges, invalidation].flat()
