import type { IncomingMessage } from 'node:http'
import { errorAnswer, type WholeAnswer } from './answer.ts'
import { watchBody } from './front/slow-body.ts'

/** Why a body could not be read: it is larger than allowed, arrives too slowly, or its client disconnected. */
export type BodyFailure = 'too-large' | 'too-slow' | 'aborted'

/** Whether a request has a body, read or not. */
export function hasBody({ headers }: IncomingMessage): boolean {
  return headers['transfer-encoding'] !== undefined || (headers['content-length'] ?? '0') !== '0'
}

/** Whether the head of a request announces a body of more than `limit` bytes. */
export function announcesMoreThan({ headers }: IncomingMessage, limit: number): boolean {
  return Number(headers['content-length'] ?? 0) > limit
}

/** Whether the client sends its body only after `100 Continue` (RFC 9110 §10.1.1). Node refuses every other expectation with 417. */
export function awaitsContinue({ headers, httpVersion }: IncomingMessage): boolean {
  return headers.expect !== undefined && httpVersion === '1.1'
}

/** Reads a body of at most `limit` bytes. A larger one is read no further. */
export function readBody(request: IncomingMessage, limit: number): Promise<Buffer | BodyFailure> {
  if (announcesMoreThan(request, limit)) return Promise.resolve('too-large')
  return new Promise((resolve) => {
    const chunks: Buffer[] = []
    let length = 0
    const settle = (result: Buffer | BodyFailure) => {
      clearImmediate(watching)
      request.off('data', onData)
      resolve(result)
    }
    const onData = (chunk: Buffer) => {
      length += chunk.length
      if (length <= limit) return void chunks.push(chunk)
      request.pause()
      settle('too-large')
    }
    // Most bodies arrive together with their head and need no timer.
    const watching = setImmediate(() => watchBody(request, () => settle('too-slow')))
    request.on('data', onData)
    request.once('end', () => settle(chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks)))
    // Also emitted after `end`, when the result is settled.
    request.once('close', () => settle('aborted'))
    request.once('error', () => settle('aborted'))
  })
}

const failures: Record<BodyFailure, readonly [status: number, message: string]> = {
  'too-large': [413, 'The body is larger than 1 MiB.'],
  'too-slow': [408, 'The request body arrived too slowly.'],
  aborted: [400, 'The connection closed before the whole body had arrived.'],
}

/** The answer to a body that could not be read. */
export function toBodyAnswer(failure: BodyFailure, refuse = errorAnswer): WholeAnswer {
  return refuse(...failures[failure])
}

/** The media type of a body without its parameters, in lower case; null without a Content-Type. */
export function mediaTypeOf({ headers }: IncomingMessage): string | null {
  const type = headers['content-type']
  return type === undefined ? null : type.split(';', 1)[0]!.trim().toLowerCase()
}

/** Parses JSON in UTF-8; null for anything else. */
export function parseJson(body: Buffer): { value: unknown } | null {
  try {
    return { value: JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(body)) as unknown }
  } catch {
    return null
  }
}
