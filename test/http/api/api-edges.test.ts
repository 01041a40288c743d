import { expect, it } from 'vitest'
import { expectRefusal } from '../../helpers/api.ts'
import { bearer, jsonOf } from '../../helpers/api-client.ts'
import { speak } from '../front/wire.ts'
import { api, useApi } from './api-of-file.ts'

useApi()

it('answers 404 for an unknown path, but 401 without a token', async () => {
  for (const path of ['/nothing', '', '/', '/stats/more', '/stats%2F', '/STATS', '//stats']) {
    expectRefusal(await api.ask(`/api/_action/vendor-cache${path}`), 401)
    expectRefusal(await api.ask(`/api/_action/vendor-cache${path}`, { headers: bearer(api.write.token) }), 404)
  }
})

it('resolves dot segments before it decides whose path it is', async () => {
  const statuses = new Map([
    ['/api/_action/vendor-cache/../../../checkout', 200],
    ['/api/_action/vendor-cache/%2e%2e/%2e%2e/x', 200],
    ['/api/_action/vendor-cache/..%2f..%2fx', 401],
    ['/x/../api/_action/vendor-cache/stats', 401],
  ])
  for (const [path, status] of statuses) {
    const { answers } = await speak(
      api.daemon.port,
      `GET ${path} HTTP/1.1\r\nHost: ${api.daemon.host}\r\nConnection: close\r\n\r\n`,
    )
    expect([path, answers[0]!.status]).toEqual([path, status])
  }
})

it('ignores unknown fields of a body and never pollutes a prototype', async () => {
  const body = '{"dryRun":true,"unknown":1,"__proto__":{"type":"products"},"constructor":{}}'
  const answer = await api.ask('/api/_action/vendor-cache/clear', {
    method: 'POST',
    headers: { ...bearer(api.write.token), 'content-type': 'application/json' },
    body,
  })
  expect(jsonOf(answer)).toEqual({ success: true, filesDeleted: 0, dryRun: true, wouldDelete: 0, pages: [] })
})

it('limits a chunked body to 1 MiB', async () => {
  const answer = await api.ask('/api/_action/vendor-cache/clear', {
    method: 'POST',
    headers: { ...bearer(api.write.token), 'content-type': 'application/json', 'transfer-encoding': 'chunked' },
    body: ' '.repeat(1024 * 1024 + 1),
  })
  expectRefusal(answer, 413)
})

it('answers HEAD like GET, without a body', async () => {
  const answer = await api.ask('/api/_action/vendor-cache/stats', { method: 'HEAD', headers: bearer(api.read.token) })
  expect([answer.status, answer.body.length, answer.headers.get('cache-control')]).toEqual([200, 0, 'no-store'])
})
