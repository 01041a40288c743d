import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { createServer as createTlsServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { cacheStatistics } from '../../src/operations/cache.ts'
import { installed } from '../helpers/rivals.ts'
import { tempDir } from '../helpers/temp-dir.ts'
import { openAt } from './played-daemon.ts'

const hasOpenssl = installed('openssl')

describe.skipIf(!hasOpenssl)(`a certificate${hasOpenssl ? '' : ' (no openssl on this machine)'}`, () => {
  it('that is not trusted is an error, and no secret is sent', async () => {
    const directory = await tempDir()
    const [key, cert] = [join(directory, 'key'), join(directory, 'cert')]
    execFileSync(
      'openssl',
      [
        'req',
        '-x509',
        '-newkey',
        'ec',
        '-pkeyopt',
        'ec_paramgen_curve:prime256v1',
        '-nodes',
        '-days',
        '2',
        '-subj',
        '/CN=127.0.0.1',
        '-keyout',
        key,
        '-out',
        cert,
      ],
      { stdio: 'ignore' },
    )
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
