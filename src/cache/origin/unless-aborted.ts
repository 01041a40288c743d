import { toOriginError } from './error.ts'

/** Waits for a promise until a signal is aborted. @throws OriginError when it is aborted first */
export async function unlessAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  if (signal.aborted) throw toOriginError(signal.reason)
  const aborted = Promise.withResolvers<never>()
  const onAbort = () => aborted.reject(toOriginError(signal.reason))
  signal.addEventListener('abort', onAbort, { once: true })
  try {
    return await Promise.race([promise, aborted.promise])
  } finally {
    signal.removeEventListener('abort', onAbort)
  }
}
