import type { IncomingMessage } from 'node:http'
import { refusal, type ApiAnswer } from './api-answer.ts'
import { watchBody } from '../front/slow-body.ts'

/** The largest body that the API takes, in bytes (contract section 4). */
const largestBody = 1024 * 1024

export const tooLarge: ApiAnswer = refusal(413, 'The body is larger than 1 MiB.', { connection: 'close' })

/** Whether the head of a request says that its body is too large. */
export function announcesTooMuch(request: IncomingMessage): boolean {
  return Number(request.headers['content-length'] ?? 0) > largestBody
}

/** The type of a body without its parameters, lower case; null where it says nothing. */
export function mediaTypeOf(request: IncomingMessage): string | null {
  const type = request.headers['content-type']
  return type === undefined ? null : type.split(';', 1)[0]!.trim().toLowerCase()
}

/** Reads a body of at most `limit` bytes; an answer where it is larger, comes too slowly or breaks off. */
export async function readBody(request: IncomingMessage, limit: number = largestBody): Promise<Buffer | ApiAnswer> {
  return new Promise((resolve) => {
    const chunks: Buffer[] = []
    let size = 0
    const end = (result: Buffer | ApiAnswer) => {
      request.off('data', onData)
      resolve(result)
    }
    const onData = (chunk: Buffer) => {
      size += chunk.length
      if (size > limit) end(tooLarge)
      else chunks.push(chunk)
    }
    request.on('data', onData)
    request.once('end', () => end(Buffer.concat(chunks)))
    request.once('close', () => end(refusal(400, 'The body broke off.', { connection: 'close' })))
    request.once('error', () => end(refusal(400, 'The body broke off.', { connection: 'close' })))
    watchBody(request, () => end(refusal(408, 'The request came too slowly.', { connection: 'close' })))
  })
}

/** The JSON of a body; an answer where it is none. */
export function parseJson(body: Buffer): { value: unknown } | ApiAnswer {
  try {
    return { value: JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(body)) as unknown }
  } catch {
    return refusal(400, 'The body is no valid JSON.')
  }
}
