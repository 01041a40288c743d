import { Readable } from 'node:stream'
import { expect, it } from 'vitest'
import { Allowance } from '../../../src/cache/esi/allowance.ts'
import { bytesOf } from '../../../src/cache/esi/answer-bytes.ts'

it('a fragment that breaks off leaves its bytes to the others of its page', async () => {
  const allowance = new Allowance(1, 100, null)
  async function* broken() {
    yield Buffer.alloc(60)
    await Promise.resolve()
    throw new Error('broken')
  }
  await expect(bytesOf(Readable.from(broken(), { objectMode: false }), allowance)).rejects.toThrow()
  expect(allowance.bytes).toBe(100)
})
