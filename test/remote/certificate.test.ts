import { readFileSync } from 'node:fs'
import { createServer as createTlsServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { describe, expect, it, onTestFinished } from 'vitest'
import { cacheStatistics } from '../../src/operations/cache.ts'
import { createCertificate } from '../helpers/certificate.ts'
import { installed } from '../helpers/rivals.ts'
import { tempDir } from '../helpers/temp-dir.ts'
import { openAt } from './played-daemon.ts'

const hasOpenssl = installed('openssl')

describe.skipIf(!hasOpenssl)(`a certificate${hasOpenssl ? '' : ' (no openssl on this machine)'}`, () => {
  it('that is not trusted is an error, and no secret is sent', async () => {
    const { key, cert } = createCertificate(await tempDir(), '127.0.0.1')
    let asked = 0
    const server = createTlsServer({ key: readFileSync(key), cert: readFileSync(cert) }, (_, response) => {
      asked++
      response.end()
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', () => resolve()))
    onTestFinished(() => new Promise<void>((resolve) => server.close(() => resolve())))
    const { remote } = await openAt(`https://127.0.0.1:${(server.address() as AddressInfo).port}`)
    await expect(remote.perform(cacheStatistics, {})).rejects.toMatchObject({
      code: 'SERVER_UNREACHABLE',
      message: expect.stringContaining('certificate') as string,
      hint: expect.stringContaining('NODE_EXTRA_CA_CERTS') as string,
    })
    expect(asked).toBe(0)
  })
})
