/** Characters of one event; the daemon's own are far smaller. */
const longestEvent = 4 * 1024 * 1024

/** Reads the JSON of server-sent events. Comments and all other fields are skipped. */
export async function* eventsOf(chunks: AsyncIterable<Buffer>): AsyncGenerator<unknown> {
  const decoder = new TextDecoder()
  let rest = ''
  for await (const chunk of chunks) {
    rest += decoder.decode(chunk, { stream: true })
    const messages = rest.split('\n\n')
    rest = messages.pop()!
    for (const message of messages) {
      const data = message.split('\n').filter((line) => line.startsWith('data: '))
      if (data.length > 0) yield JSON.parse(data.map((line) => line.slice(6)).join('\n'))
    }
    if (rest.length > longestEvent) throw new Error('An event is too long.')
  }
}
