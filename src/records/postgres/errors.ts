import { PagecacheError } from '../../errors.ts'

/** Errors after which the whole transaction, or the single statement, can run again: the database has certainly kept nothing of it. */
const repeatable = new WeakSet<object>()

/** Whether nothing of the failed transaction or statement was kept, so that it can be repeated. */
export function isRepeatable(error: unknown): boolean {
  return typeof error === 'object' && error !== null && repeatable.has(error)
}

/** `40001`: the transaction is not serializable with another one; `40P01`: deadlock. */
const conflict = /^40(?:001|P01)$/
/** A key that another transaction has written since this one began: where it saw the key, it would have written something else. */
const duplicate = '23505'
/** The network, a server that starts or stops or has no free connections, and a transaction that was ended because its process was frozen. */
const disconnected =
  /^(?:E(?:CONNREFUSED|CONNRESET|PIPE|TIMEDOUT|HOSTUNREACH|NETUNREACH|NOTFOUND|NOENT|AI_AGAIN)|ENOTFOUND|ENOENT|EAI_AGAIN|08...|25P0[34]|57P0[1-5]|53300)$/
/** Errors of `pg` without a code, and a statement that was prepared before another process has migrated its table: a new connection helps. */
const disconnectedText =
  /^(?:Connection terminated|timeout expired|Query read timeout|Client (?:was closed|has encountered)|cached plan must not change)/
/** A connection pooler gives a statement another connection than the one that has prepared it. */
const misplaced = /^(?:26000|42P05)$/
const lockTimeout = /^(?:55P03|57014)$/
const full = /^(?:53[12]00|54000)$/
/** Wrong password, unknown user or database, missing right, read-only server, standby (which does not know the end of its log). */
const refused = /^(?:28...|3D000|42501|25006|55000)$/
/** A standby refuses to begin serializable transactions, with the code of everything that is not supported. */
const standby = /hot.?standby/i

/**
 * Converts an error of PostgreSQL to a PagecacheError; other errors are returned unchanged.
 *
 * @param server how messages name the database
 * @param isSettled false where the server may have committed although the answer was lost
 */
export function toPostgresError(error: unknown, server: string, isSettled = true): unknown {
  if (!(error instanceof Error) || error instanceof PagecacheError) return error
  const code = codeOf(error)
  if (code === duplicate) repeatable.add(error)
  const converted = convert(error, server)
  if (converted === null) return error
  if (conflict.test(code) || (isSettled && isLostConnection(error))) repeatable.add(converted)
  return converted
}

export function isLostConnection(error: unknown): boolean {
  return error instanceof Error && (disconnected.test(codeOf(error)) || disconnectedText.test(error.message))
}

function convert(error: Error, server: string): PagecacheError | null {
  const [code, cause] = [codeOf(error), error]
  if (conflict.test(code) || lockTimeout.test(code))
    return new PagecacheError('STORE_BUSY', `${server} is busy with other transactions`, {
      hint: 'Try again; if it stays busy, look for long transactions in pg_stat_activity.',
      cause,
    })
  if (isLostConnection(error))
    return new PagecacheError('STORE_UNREACHABLE', `${server} is unreachable: ${textOf(error)}`, {
      hint: 'Check that PostgreSQL runs and has free connections, and records.url.',
      cause,
    })
  if (misplaced.test(code))
    return new PagecacheError('STORE_UNREACHABLE', `${server} is behind a connection pooler: ${textOf(error)}`, {
      hint: 'Set records.listenUrl to a URL of the server itself; then records.url may lead through the pooler.',
      cause,
    })
  if (refused.test(code) || (code === '0A000' && standby.test(error.message)))
    return new PagecacheError('STORE_UNREACHABLE', `${server} refuses access: ${textOf(error)}`, {
      hint: 'Check records.url and the rights of its user; the server must accept writes.',
      cause,
    })
  if (full.test(code))
    return new PagecacheError('STORE_FULL', `${server} cannot be used: ${textOf(error)}`, {
      hint: 'Check the disk space and the memory of the PostgreSQL server.',
      cause,
    })
  if (code === '42P07') return unusable(server, `has tables of another program: ${textOf(error)}`)
  if (/^XX00[12]$/.test(code))
    return new PagecacheError('STORE_DAMAGED', `${server} is damaged: ${textOf(error)}`, {
      hint: 'Stop pagecache and restore the database from a backup.',
      cause,
    })
  return null
}

/** A database that is not, and cannot become, one of records. */
export function unusable(server: string, what: string): PagecacheError {
  return new PagecacheError('STORE_FOREIGN', `${server} ${what}`, {
    hint: 'Nothing was changed. Create a database for pagecache alone, and set records.url to it.',
  })
}

/** A standby, or a server that is being replaced. */
export function readOnly(server: string): PagecacheError {
  return new PagecacheError('STORE_UNREACHABLE', `${server} is read-only`, {
    hint: 'Set records.url to the primary server.',
  })
}

/** All `records.pool` connections of this process are in use. */
export function exhausted(server: string, pool: number): PagecacheError {
  return new PagecacheError('STORE_BUSY', `All ${pool} connections of this process to ${server} are in use`, {
    hint: 'Try again; if it happens often, raise records.pool.',
  })
}

function codeOf(error: Error): string {
  return 'code' in error && typeof error.code === 'string' ? error.code : ''
}

/** An error of several addresses has no message of its own. */
function textOf(error: Error): string {
  if (error instanceof AggregateError) return error.errors.map((each: unknown) => (each as Error).message).join(', ')
  return error.message
}
