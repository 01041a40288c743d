import * as z from 'zod/mini'
import { PagecacheError } from '../errors.ts'
import { trafficTypes, visitorResults } from '../traffic/traffic.ts'
import { count, described, optionalId, success, succeeded } from './fields.ts'
import { assertKnownChannel } from './known-channel.ts'
import { defineOperation } from './operation.ts'
import { toOwnNode } from './own-node.ts'

export { trafficTypes, visitorResults }

const seen = z.object({
  at: described(z.iso.datetime(), 'when the answer ended'),
  method: z.string(),
  result: z.enum(visitorResults),
  reason: described(z.nullable(z.string()), 'why the answer was no plain hit; null for a hit'),
  status: described(count, '0: the visitor left before the answer began'),
  ms: described(z.number(), 'milliseconds until the answer began'),
  type: z.enum(trafficTypes),
  salesChannelId: z.string(),
  host: z.string(),
  path: described(z.string(), 'without the query'),
})

const events = z.discriminatedUnion('kind', [
  z.object({
    kind: z.literal('processes'),
    processes: described(count, 'daemon processes of this machine whose requests are shown'),
    node: described(z.optional(z.string()), 'its name, with several machines'),
  }),
  z.object({
    kind: z.literal('requests'),
    requests: z.array(seen),
    notShown: described(count, 'requests of the same time that were left out, at a high rate or for a slow reader'),
  }),
])

export type LiveEvent = z.output<typeof events>
export type LiveRequest = z.output<typeof seen>

const expectedResult = `expected one of ${visitorResults.join(', ')}`
const expectedType = `expected one of ${trafficTypes.join(', ')}`
const expectedPath = 'expected the beginning of a path, up to 200 characters'

export const liveTraffic = defineOperation({
  name: 'traffic.live',
  summary: 'Shows requests of visitors as they end, as server-sent events',
  input: z.object({
    result: described(
      z.optional(z.array(z.enum(visitorResults, { error: expectedResult }))),
      'only these results; repeatable',
    ),
    type: described(z.optional(z.array(z.enum(trafficTypes, { error: expectedType }))), 'only these types; repeatable'),
    path: described(
      z.optional(z.string({ error: expectedPath }).check(z.maxLength(200, { error: expectedPath }))),
      'how the path begins; `*` stands for any characters',
    ),
    salesChannelId: optionalId('expected the id of a sales channel'),
  }),
  output: z.object({ success }),
  events,
  http: { method: 'GET', path: '/traffic/live' },
  async run({ app, signal, emit = () => {} }, { salesChannelId = '', path, ...filter }) {
    assertKnownChannel(app, salesChannelId)
    const { watchLive } = await import('../traffic/live/watch-live.ts')
    let found = false
    await watchLive({
      dataDir: app.loaded.places.dataDir,
      filter: { ...filter, path: path === '' ? undefined : path, salesChannelId: salesChannelId || undefined },
      signal,
      onProcesses(processes) {
        if (processes === 0 && !found) throw noDaemon(app.loaded.places.dataDir)
        found = true
        return emit({ kind: 'processes', processes, ...toOwnNode(app) } satisfies LiveEvent)
      },
      onRequests: ({ requests, notShown }) =>
        emit({
          kind: 'requests',
          requests: requests.map((each) => ({ ...each, at: new Date(each.at).toISOString() })),
          notShown,
        } satisfies LiveEvent),
    })
    return succeeded
  },
})

function noDaemon(dataDir: string): PagecacheError {
  return new PagecacheError('WRONG_STATE', `No running daemon shows its requests in ${dataDir}.`, {
    hint: 'Start one with pagecache serve, or name the one of another machine with --server.',
  })
}
