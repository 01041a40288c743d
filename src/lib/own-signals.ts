/** Handles SIGINT and SIGTERM: the first one aborts, a second one exits at once. Returns the function that ends this. */
export function ownSignals(abort: AbortController, onFirst: (signal: NodeJS.Signals) => void = () => {}): () => void {
  const listener = (name: NodeJS.Signals) => {
    if (abort.signal.aborted) process.exit(130)
    abort.abort()
    onFirst(name)
  }
  const names = ['SIGINT', 'SIGTERM'] as const
  for (const name of names) process.on(name, listener)
  return () => {
    for (const name of names) process.off(name, listener)
  }
}
