/** Waits until all have ended, also when one fails meanwhile. @throws the first error */
export async function settle<const T extends readonly unknown[]>(
  running: T,
): Promise<{ -readonly [K in keyof T]: Awaited<T[K]> }> {
  await Promise.allSettled(running)
  return Promise.all(running)
}
