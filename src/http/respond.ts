import type { ServerResponse } from 'node:http'
import { pipeline } from 'node:stream'
import { discard } from '../proxy/body.ts'
import type { Answer } from '../proxy/visit.ts'

/** Sends an answer. A body that breaks off cuts the connection, so that the visitor sees that the page is not whole. */
export function respond(response: ServerResponse, answer: Answer): void {
  if (response.destroyed || response.headersSent) {
    if (answer.body !== null && !Buffer.isBuffer(answer.body)) discard(answer.body)
    return
  }
  response.writeHead(answer.status, answer.headers.flat() as unknown as string[])
  if (answer.body === null || Buffer.isBuffer(answer.body)) {
    response.end(answer.body ?? undefined)
    return
  }
  // The head goes out at once: the body may take its time.
  response.flushHeaders()
  pipeline(answer.body, response, error => {
    if (error) response.destroy()
  })
}
