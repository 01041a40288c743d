/** The variable with which the running test's programs use its PostgreSQL database; none in the project `sqlite`. */
export function recordsVariable(): Record<string, string> {
  const url = process.env['PAGECACHE_RECORDS_URL']
  return url === undefined ? {} : { PAGECACHE_RECORDS_URL: url }
}
