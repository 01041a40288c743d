import { once } from 'node:events'
import { connect, type AddressInfo } from 'node:net'
import { expect, it, onTestFinished, vi } from 'vitest'
import type { Visit } from '../../../src/cache/visit.ts'
import type { FrontOptions } from '../../../src/http/front/front-options.ts'
import { createFront } from '../../../src/http/front/front.ts'
import { until } from '../../helpers/until.ts'

it('asks the shop nothing for a visitor who has left while its token was judged', async () => {
  let judged = () => {}
  const answer = vi.fn<(visit: Visit) => Promise<never>>(() => new Promise<never>(() => {}))
  const ended = vi.fn<() => void>()
  const judge = vi.fn<() => Promise<object>>(async () => {
    await new Promise<void>((resolve) => (judged = resolve))
    return { judge: () => ({ kind: 'accepted', scopes: ['read'] }) }
  })
  const { server } = createFront({
    cache: { answer, classifying: { channels: { ownPath: () => null, find: () => null } } },
    debugging: { judge },
    purges: { mayPurge: () => false },
    isTrusted: () => false,
    traffic: { count: () => {} },
    accessLog: null,
    begin: () => ended,
    onError: () => {},
  } as unknown as FrontOptions)
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => void server.close())
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1')
  socket.write('GET /a HTTP/1.1\r\nHost: shop.example\r\nX-Pagecache-Debug: 1\r\nAuthorization: Bearer x\r\n\r\n')
  await until(() => expect(judge).toHaveBeenCalledOnce())
  socket.destroy()
  await until(() => expect(ended).toHaveBeenCalledOnce())
  judged()
  await until(() => expect(answer).toHaveBeenCalledOnce())
  expect(answer.mock.calls[0]![0].signal!.aborted).toBe(true)
})
