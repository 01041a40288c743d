import { join, relative } from 'node:path'

/** The directory of the sockets on which the processes of this machine show their requests, below the state directory. */
export function liveDirectory(dataDir: string): string {
  return join(dataDir, 'live')
}

/** Bytes that the address of a Unix socket may have on every system. */
const longestAddress = 103

/**
 * The address of a socket: relative to the working directory where that is shorter, because the system limits its length.
 *
 * @throws where both are too long
 */
export function socketAddress(path: string): string {
  const here = relative(process.cwd(), path)
  const address = Buffer.byteLength(here) < Buffer.byteLength(path) ? here : path
  if (Buffer.byteLength(address) > longestAddress) throw new Error(`The path of the socket is too long: ${path}`)
  return address
}

/** What a watcher sends first: one line of JSON. */
export const longestLine = 8192

/** Splits a stream of text into lines. @throws where a line is longer than `longest` characters */
export async function* linesOf(chunks: AsyncIterable<unknown>, longest: number): AsyncGenerator<string> {
  let rest = ''
  const decoder = new TextDecoder()
  for await (const chunk of chunks) {
    rest += decoder.decode(chunk as Buffer, { stream: true })
    const lines = rest.split('\n')
    rest = lines.pop()!
    yield* lines
    if (rest.length > longest) throw new Error('A line is too long.')
  }
}
