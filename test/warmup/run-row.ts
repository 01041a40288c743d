import type { WarmupRunRow } from '../../src/records/schema.ts'

/** A row of a run without URLs, made at 1 ms. */
export function runRow(values: Pick<WarmupRunRow, 'id'> & Partial<WarmupRunRow>): WarmupRunRow {
  return {
    status: 'running',
    sales_channel_id: null,
    batch_size: 50,
    force: 0,
    concurrency: null,
    total_urls: 0,
    checked_urls: 0,
    processed_urls: 0,
    skipped_urls: 0,
    failed_urls: 0,
    urls_per_second: 0,
    message: null,
    discovery: '{}',
    created_at: 1,
    updated_at: 1,
    finished_at: null,
    paused_at: null,
    paused_for: 0,
    ...values,
  }
}
