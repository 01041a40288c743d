/**
 * Handles SIGINT and SIGTERM while `work` runs: the first aborts the signal, the second exits at once with 130.
 */
export async function interruptible<T>(work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const abort = new AbortController()
  const listener = () => {
    if (abort.signal.aborted) process.exit(130)
    abort.abort()
  }
  const names = ['SIGINT', 'SIGTERM'] as const
  for (const name of names) process.on(name, listener)
  try {
    return await work(abort.signal)
  } finally {
    for (const name of names) process.off(name, listener)
  }
}
