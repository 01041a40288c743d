import { expect, it } from 'vitest'
import { LiveStreams } from '../../../src/http/api/live-streams.ts'
import { PagecacheError } from '../../../src/errors.ts'
import type { Emit, Follower } from '../../../src/operations/operation.ts'
import type { Answer } from '../../../src/http/answer.ts'
import { until } from '../../helpers/until.ts'
import type { PassThrough } from 'node:stream'

/** An operation that emits what the test says until its follower leaves. */
function openStreams(mayGoOn: () => boolean = () => true) {
  const retirement = new AbortController()
  const streams = new LiveStreams(retirement.signal)
  const running: { emit: Emit; signal: AbortSignal }[] = []
  const perform = async ({ emit, signal }: Follower) => {
    running.push({ emit, signal })
    void emit({ kind: 'first', n: 1 })
    await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve()))
  }
  const open = (how = perform) => streams.open(false, { perform: how, mayGoOn: async () => mayGoOn() })
  return { open, streams, running, retire: () => retirement.abort() }
}

const streamOf = (answer: Answer) => answer.body as PassThrough

async function textOf(stream: PassThrough): Promise<string> {
  let text = ''
  for await (const chunk of stream) text += String(chunk)
  return text
}

it('answers with an event for each thing that happens, until the configuration is replaced', async () => {
  const { open, running, retire } = openStreams()
  const answer = await open()
  expect(answer.status).toBe(200)
  expect(answer.headers).toContainEqual(['Content-Type', 'text/event-stream'])
  const text = textOf(streamOf(answer))
  await running[0]!.emit({ kind: 'second', text: 'a\nb' })
  retire()
  expect(await text).toBe(
    'event: first\ndata: {"kind":"first","n":1}\n\nevent: second\ndata: {"kind":"second","text":"a\\nb"}\n\n',
  )
})

it('leaves a failure before the first event to the error answers', async () => {
  const { open } = openStreams()
  await expect(open(async () => Promise.reject(new PagecacheError('WRONG_STATE', 'no daemon')))).rejects.toThrow(
    'no daemon',
  )
})

it('stops the operation when the client leaves', async () => {
  const { open, running } = openStreams()
  streamOf(await open()).destroy()
  await until(() => running[0]!.signal.aborted)
})

it('ends the stream of a client that was revoked', async () => {
  let revoked = false
  const { open, running } = openStreams(() => !revoked)
  const text = textOf(streamOf(await open()))
  revoked = true
  expect(await text).toContain('first')
  expect(running[0]!.signal.aborted).toBe(true)
})

it('holds the operation back while the client does not read', async () => {
  const { open, running } = openStreams()
  const stream = streamOf(await open())
  let sent = 0
  const flood = (async () => {
    for (; sent < 10_000 && !stream.destroyed; sent += 1) await running[0]!.emit({ kind: 'x', text: 'x'.repeat(1000) })
  })()
  await until(() => stream.writableNeedDrain)
  expect(stream.readableLength + stream.writableLength).toBeLessThan(200_000)
  stream.destroy()
  await flood
  expect(sent).toBeLessThan(500)
})

it('refuses more than 32 streams at once, and answers HEAD with the head alone', async () => {
  const { open, streams } = openStreams()
  const open32 = await Promise.all(Array.from({ length: 32 }, () => open()))
  expect((await open()).status).toBe(503)
  const head = await streams.open(true, { perform: () => expect.unreachable(), mayGoOn: () => expect.unreachable() })
  expect([head.status, head.body]).toEqual([200, null])
  const first = streamOf(open32[0]!)
  first.destroy()
  await until(async () => first.closed && (await open()).status === 200)
})
