import { describe, expect, it } from 'vitest'
import { App } from '../src/app.ts'
import { loadConfig } from '../src/config/load.ts'
import { tempDir } from './helpers/temp-dir.ts'

async function openApp(): Promise<App> {
  return new App({ loaded: await loadConfig({ projectDir: await tempDir() }, { variables: {} }), onWarning: () => {} })
}

describe('closing', () => {
  it('goes in the opposite order of opening', async () => {
    const app = await openApp()
    const closed: string[] = []
    app.onClose(() => void closed.push('first'))
    app.onClose(async () => void closed.push('second'))
    await app.close()
    expect(closed).toEqual(['second', 'first'])
  })

  it('closes everything although one closer fails, and then tells', async () => {
    const app = await openApp()
    const closed: string[] = []
    app.onClose(() => void closed.push('first'))
    app.onClose(() => {
      throw new Error('stuck')
    })
    await expect(app.close()).rejects.toThrow('stuck')
    expect(closed).toEqual(['first'])
  })

  it('waits for a part that is still opening', async () => {
    const app = await openApp()
    let closed = false
    void app.pages().then((pages) => {
      const close = pages.close.bind(pages)
      pages.close = async () => {
        closed = true
        await close()
      }
    })
    await app.close()
    expect(closed).toBe(true)
  })
})

it('a part is opened once, however many ask for it', async () => {
  const app = await openApp()
  const [one, two] = await Promise.all([app.pages(), app.pages()])
  expect(one).toBe(two)
  await app.close()
})
