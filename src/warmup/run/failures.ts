import { contains } from '../../records/statements.ts'
import type { Records } from '../../records/open.ts'

export interface FailureFilter {
  status?: number | undefined
  /** Substring of the error, case-insensitive. */
  error?: string | undefined
  /** Substring of the URL, case-insensitive. */
  url?: string | undefined
}

export interface Failure {
  url: string
  variant: number
  status: number | null
  error: string
  attempts: number
  /** Milliseconds since the epoch. */
  at: number
}

/** The failed URLs of a run, oldest first. */
export async function listFailures(
  records: Records,
  runId: string,
  page: { limit: number; offset: number },
  filter: FailureFilter = {},
): Promise<{ total: number; items: Failure[] }> {
  const found = () => {
    let failures = records.db.selectFrom('warmup_failures').where('run_id', '=', runId)
    if (filter.status !== undefined) failures = failures.where('status', '=', filter.status)
    for (const column of ['error', 'url'] as const) {
      const part = filter[column]
      if (part !== undefined) failures = failures.where(contains(column, part))
    }
    return failures
  }
  const items = await found()
    .select(['url', 'variant', 'status', 'error', 'attempts', 'at'])
    .orderBy('id')
    .limit(page.limit)
    .offset(page.offset)
    .execute()
  const { total } = await found()
    .select((expression) => expression.fn.countAll<number>().as('total'))
    .executeTakeFirstOrThrow()
  return { total: Number(total), items }
}

/** The failures of a run grouped by error, the most frequent first. */
export async function topFailures(
  records: Records,
  runId: string,
  limit: number,
): Promise<{ error: string; count: number }[]> {
  const rows = await records.db
    .selectFrom('warmup_failures')
    .select((expression) => ['error', expression.fn.countAll<number>().as('count')])
    .where('run_id', '=', runId)
    .groupBy('error')
    .orderBy('count', 'desc')
    .orderBy('error')
    .limit(limit)
    .execute()
  return rows.map(({ error, count }) => ({ error, count: Number(count) }))
}
