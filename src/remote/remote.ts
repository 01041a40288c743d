import { PagecacheError } from '../errors.ts'
import {
  parseInput,
  type Follower,
  type Given,
  type Operation,
  type OperationEvent,
  type Performer,
  type Schema,
} from '../operations/operation.ts'
import { succeeded } from '../operations/fields.ts'
import { AccessToken, type Credentials } from './access-token.ts'
import { eventsOf } from './server-sent-events.ts'
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

/** Unencrypted daemons that this process has warned of. */
const warnedOf = new Set<string>()

/** Prepares a connection to a daemon. Nothing is sent before the first operation. */
export async function openRemote(
  credentials: Credentials,
  { signal, report, onWarning }: RemoteOptions,
): Promise<Remote> {
  const { server } = credentials
  // A command may open several connections.
  if (isUnencrypted(server) && !warnedOf.has(server)) {
    warnedOf.add(server)
    onWarning(`${server} is not encrypted, so the client secret can be intercepted. Use https.`)
  }
  const transport = await Transport.open(server, signal)
  const token = new AccessToken(transport, credentials, () => performance.now())
  return {
    perform: async <Input extends Schema, Value>(
      operation: Operation<Input, Value>,
      input: Given<Input>,
      follower?: Follower,
    ): Promise<Value> => {
      const { http } = operation
      if (http === undefined) throw notRemote(server)
      // Invalid input is reported before anything is sent, with the same message as on this machine.
      parseInput(operation, input)
      const request = toRequest(http, input as Record<string, unknown>)
      if (operation.events !== undefined && follower !== undefined)
        return (await follow({ server, transport, token, signal }, request, follower)) as Value
      const response = await authorised(token, request, (each) => transport.send(each))
      for (const message of messagesOf(response)) report({ kind: 'message', message })
      if (response.status !== 200 || typeof response.value !== 'object') throw toRemoteError(server, response)
      return response.value as Value
    },
    mayWrite: () => token.mayWrite(),
    close: () => transport.close(),
  }
}

/** Sends a request with the token; retries once with a new one, because a cached token may have been revoked. */
async function authorised<Response extends RemoteResponse>(
  token: AccessToken,
  request: RemoteRequest,
  send: (request: RemoteRequest) => Promise<Response>,
): Promise<Response> {
  const sendWith = (value: string) =>
    send({ ...request, headers: { ...request.headers, authorization: `Bearer ${value}` } })
  const value = await token.get()
  const response = await sendWith(value)
  if (response.status !== 401) return response
  token.forget(value)
  return sendWith(await token.get())
}

interface Connection {
  server: string
  transport: Transport
  token: AccessToken
  signal: AbortSignal
}

/** Follows a live operation until the follower leaves or the daemon ends the stream: it is stopping, or has loaded another configuration. */
async function follow(
  { server, transport, token, signal }: Connection,
  request: RemoteRequest,
  follower: Follower,
): Promise<unknown> {
  const either = AbortSignal.any([signal, follower.signal])
  try {
    const response = await authorised(token, request, (each) => transport.open(each, either))
    if (response.chunks === null) throw toRemoteError(server, response)
    for await (const event of eventsOf(response.chunks)) await follower.emit(event)
  } catch (error) {
    if (!follower.signal.aborted || signal.aborted) throw error
  }
  return succeeded
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
