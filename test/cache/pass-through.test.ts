import { AsyncLocalStorage } from 'node:async_hooks'
import { expect, it } from 'vitest'
import { toChannel } from '../../src/cache/channel.ts'
import type { OriginClient } from '../../src/cache/origin.ts'
import type { ResponseSink } from '../../src/cache/origin/exchange.ts'
import { PassThrough } from '../../src/cache/pass-through.ts'
import { VisitorClassifier } from '../../src/cache/visitor-classes.ts'

const context = new AsyncLocalStorage<string>()
const channel = toChannel({ id: 'c', name: 'Shop', url: 'http://shop.example', origin: 'http://127.0.0.1:8000' })

it('what a response changes is removed in the context of its request, not in that of the connection', () => {
  const seen: unknown[] = []
  let answered: ResponseSink | null = null
  const origin = {
    begin: (_: unknown, sink: ResponseSink) => {
      answered = sink
      return {}
    },
  } as unknown as OriginClient
  const passThrough = new PassThrough(
    { origin, confirmations: { learn: () => {} } as never, classes: new VisitorClassifier() },
    { after: () => (seen.push(context.getStore()), null) } as never,
  )
  const visit = { method: 'POST', scheme: 'http', host: 'shop.example', target: '/basket', headers: [], body: null }
  const route = { channel, target: { path: '/basket', query: '' }, url: 'http://shop.example/basket' }
  context.run('the request', () =>
    passThrough.begin(
      { ...visit, remoteAddress: null, forwardedFor: null },
      { ...route, reason: 'a POST', isAsset: false },
      { onHead: () => true } as never,
    ),
  )
  context.run('the connection', () => answered!.onHead({ status: 200, headers: [], length: 0 }))
  expect(seen).toEqual(['the request'])
})
