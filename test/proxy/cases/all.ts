import { ages } from './ages.ts'
import type { Case } from './case.ts'
import { freshness } from './freshness.ts'
import { storing } from './storing.ts'
import { vary } from './vary.ts'

/** The whole table. */
export const allCases: readonly Case[] = [storing, freshness, ages, vary].flat()
