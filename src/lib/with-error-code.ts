/**
 * Opens a database with better-sqlite3, which throws a TypeError without a code for a missing directory: callers could
 * not tell a directory that another program has deleted from a bug.
 * @throws ENOENT instead
 */
export function withErrorCode<T>(open: () => T): T {
  try {
    return open()
  } catch (error) {
    if (!(error instanceof TypeError) || !error.message.includes('directory does not exist')) throw error
    throw Object.assign(new Error(error.message, { cause: error }), { code: 'ENOENT', syscall: 'open' })
  }
}
