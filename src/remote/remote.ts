import { PagecacheError } from '../errors.ts'
import {
  parseInput,
  type Given,
  type Operation,
  type OperationEvent,
  type Performer,
  type Schema,
} from '../operations/operation.ts'
import { AccessToken, type Credentials } from './access-token.ts'
import { textOf, toRemoteError } from './remote-error.ts'
import { toRequest } from './to-request.ts'
import { Transport, type RemoteRequest, type RemoteResponse } from './transport.ts'

export interface RemoteOptions {
  signal: AbortSignal
  report(event: OperationEvent): void
  onWarning(message: string): void
}

/** Performs operations on a daemon through its HTTP API. */
export interface Remote extends Performer {
  close(): Promise<void>
}

/** Prepares a connection to a daemon. Nothing is sent before the first operation. */
export async function openRemote(
  credentials: Credentials,
  { signal, report, onWarning }: RemoteOptions,
): Promise<Remote> {
  const { server } = credentials
  if (isUnencrypted(server))
    onWarning(`${server} is not encrypted, so the client secret can be intercepted. Use https.`)
  const transport = await Transport.open(server, signal)
  const token = new AccessToken(transport, credentials, () => performance.now())
  return {
    perform: async <Input extends Schema, Value>(
      operation: Operation<Input, Value>,
      input: Given<Input>,
    ): Promise<Value> => {
      const { http } = operation
      if (http === undefined) throw notRemote(server)
      // Invalid input is reported before anything is sent, with the same message as on this machine.
      parseInput(operation, input)
      const response = await sendAuthorised(transport, token, toRequest(http, input as Record<string, unknown>))
      for (const message of messagesOf(response)) report({ kind: 'message', message })
      if (response.status !== 200 || typeof response.value !== 'object') throw toRemoteError(server, response)
      return response.value as Value
    },
    close: () => transport.close(),
  }
}

/** Sends a request with the token; retries once with a new one, because a cached token may have been revoked. */
async function sendAuthorised(
  transport: Transport,
  token: AccessToken,
  request: RemoteRequest,
): Promise<RemoteResponse> {
  const send = (value: string) =>
    transport.send({ ...request, headers: { ...request.headers, authorization: `Bearer ${value}` } })
  const value = await token.get()
  const response = await send(value)
  if (response.status !== 401) return response
  token.forget(value)
  return send(await token.get())
}

/** Messages that the operation reported while it ran. */
function messagesOf({ headers }: RemoteResponse): string[] {
  const text = textOf(headers['pagecache-notes'])
  return text === null ? [] : text.split('\n')
}

function isUnencrypted(server: string): boolean {
  const { protocol, hostname } = new URL(server)
  return protocol === 'http:' && !/^(localhost|127\.[\d.]+|\[::1\])$/.test(hostname)
}

function notRemote(server: string): PagecacheError {
  return new PagecacheError('USAGE', `This runs on this machine only, but ${server} was selected.`, {
    hint: 'Remove --server and --profile, and unset PAGECACHE_SERVER and PAGECACHE_PROFILE.',
  })
}
