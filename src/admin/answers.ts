/** What the API answers, as the operations define it: types only, nothing of them comes into the browser. */
import type { output } from 'zod/mini'
import type { Statistics as StatisticsValue, inspectPage, listPages } from '../operations/cache.ts'
import type { watchWarmup } from '../operations/warmup-watch.ts'

export type Statistics = StatisticsValue
export type PageList = output<typeof listPages.output>
export type Inspection = output<typeof inspectPage.output>
export type WarmupWatch = output<typeof watchWarmup.output>
export type WarmupProgress = NonNullable<WarmupWatch['progress']>
