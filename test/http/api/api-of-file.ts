import { afterAll, beforeAll } from 'vitest'
import { type Api, openApi } from '../../helpers/api.ts'
import { type Origin, startOrigin } from '../../helpers/origin.ts'

export let origin: Origin

export let api: Api

/** Starts a daemon for all tests of the file that calls it. */
export function useApi(): void {
  beforeAll(async () => {
    origin = await startOrigin({
      otherwise: () => ({ headers: { 'content-type': 'text/html', 'cache-control': 'max-age=60' }, body: 'page' }),
    })
    api = await openApi({ args: ['--origin', origin.url] })
  })

  afterAll(async () => {
    await api?.stop()
    await origin?.stop()
  })
}
