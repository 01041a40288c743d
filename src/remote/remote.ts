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

/** Operations on a daemon, over its HTTP API. */
export interface Remote extends Performer {
  close(): Promise<void>
}

/** Performs operations on the daemon at `server`; nothing is sent before the first one. */
export async function openRemote(
  credentials: Credentials,
  { signal, report, onWarning }: RemoteOptions,
): Promise<Remote> {
  const { server } = credentials
  if (isOverheard(server)) onWarning(`${server} is not encrypted: who is on the way can read the client's secret.`)
  const transport = await Transport.open(server, signal)
  const token = new AccessToken(transport, credentials, () => performance.now())
  return {
    perform: async <Input extends Schema, Value>(
      operation: Operation<Input, Value>,
      input: Given<Input>,
    ): Promise<Value> => {
      const { http } = operation
      if (http === undefined) throw notRemote(server)
      // What is wrong is said in the same words as here, before anything is sent.
      parseInput(operation, input)
      const response = await authorised(transport, token, toRequest(http, input as Record<string, unknown>))
      for (const message of notesOf(response)) report({ kind: 'message', message })
      if (response.status !== 200 || typeof response.value !== 'object') throw toRemoteError(server, response)
      return response.value as Value
    },
    close: () => transport.close(),
  }
}

/** A token that was good when it was fetched may have been withdrawn: one more is tried, silently. */
async function authorised(transport: Transport, token: AccessToken, request: RemoteRequest): Promise<RemoteResponse> {
  const send = (value: string) =>
    transport.send({ ...request, headers: { ...request.headers, authorization: `Bearer ${value}` } })
  const value = await token.get()
  const response = await send(value)
  if (response.status !== 401) return response
  token.forget(value)
  return send(await token.get())
}

/** What the operation told while it was working. */
function notesOf({ headers }: RemoteResponse): string[] {
  const text = textOf(headers['pagecache-notes'])
  return text === null ? [] : text.split('\n')
}

function isOverheard(server: string): boolean {
  const { protocol, hostname } = new URL(server)
  return protocol === 'http:' && !/^(localhost|127\.[\d.]+|\[::1\])$/.test(hostname)
}

function notRemote(server: string): PagecacheError {
  return new PagecacheError('USAGE', `This works on one's own machine alone, and ${server} is another.`, {
    hint: 'Leave out --server and --profile, and unset PAGECACHE_SERVER and PAGECACHE_PROFILE.',
  })
}
