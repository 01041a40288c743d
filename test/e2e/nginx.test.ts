import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, it, onTestFinished } from 'vitest'
import { stringify } from 'yaml'
import { answers, startChild } from '../helpers/child.ts'
import { freePort } from '../helpers/daemon.ts'
import { exchange, untilHit } from '../helpers/exchange.ts'
import { startOrigin } from '../helpers/origin.ts'
import { installed } from '../helpers/rivals.ts'
import { tempDir } from '../helpers/temp-dir.ts'
import { page } from '../http/api/shop.ts'

const program = fileURLToPath(new URL('../../bin/run.js', import.meta.url))
const guide = fileURLToPath(new URL('../../docs/deploy.md', import.meta.url))
const id = '0190c0de-0000-7000-8000-000000000001'

/** The example of docs/deploy.md with another socket path. Without TLS here, the scheme is set explicitly. */
async function configuration(directory: string, port: number, socket: string): Promise<string> {
  const example = /```nginx\n(.*?)```/s.exec(await readFile(guide, 'utf8'))![1]!
  expect(example).toContain('/run/pagecache/pagecache.sock')
  expect(example).toContain('$scheme')
  const location = example.replace('/run/pagecache/pagecache.sock', socket).replace('$scheme', 'https')
  // If the master runs as root, its workers drop to an unprivileged user that cannot enter the directory.
  const user = process.getuid!() === 0 ? 'user root;\n' : ''
  const places = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']
    .map((name) => `${name}_temp_path ${directory}/${name};`)
    .join('\n')
  return `${user}daemon off;\npid ${directory}/nginx.pid;\nevents {}\nhttp {\n${places}\naccess_log off;\nserver {\nlisten 127.0.0.1:${port};\n${location}}\n}\n`
}

const hasNginx = installed('nginx')
if (!hasNginx) console.warn('The test with a real nginx is left out: nginx is not installed (Debian: nginx-light).')

it.skipIf(!hasNginx)(
  'nginx in front, configured as documented: visitors are distinguished, and the scheme is trusted',
  async () => {
    const origin = await startOrigin({
      otherwise: (request) =>
        page(
          `page of ${request.path} for ${request.headers['host']}, ${request.headers['x-forwarded-proto']}, ${request.headers['x-forwarded-for']}`,
        ),
    })
    onTestFinished(() => origin.stop())
    const [cwd, directory] = [await tempDir(), await tempDir()]
    const socket = join(cwd, 'pagecache.sock')
    await writeFile(
      join(cwd, 'pagecache.yaml'),
      stringify({ server: { socket }, salesChannels: [{ id, url: 'https://shop.example', origin: origin.url }] }),
    )
    const daemon = await startChild([process.execPath, program, 'serve', '--no-workers'], {
      cwd,
      env: { ...process.env, PAGECACHE_PROJECT_DIR: cwd },
      ready: (logs) => logs.includes('pagecache listens on'),
    })
    onTestFinished(async () => void (await daemon.stop()))

    const port = await freePort()
    await mkdir(join(directory, 'logs'))
    await writeFile(join(directory, 'nginx.conf'), await configuration(directory, port, socket))
    const url = `http://127.0.0.1:${port}`
    const env = { ...process.env, PATH: `${process.env['PATH'] ?? ''}:/usr/sbin:/sbin` }
    const nginx = await startChild(
      ['nginx', '-p', directory, '-c', join(directory, 'nginx.conf'), '-e', join(directory, 'logs/error.log')],
      { env, ready: () => answers(`${url}/healthz`) },
    )
    onTestFinished(async () => void (await nginx.stop()))

    const ask = (path: string) => exchange(`${url}${path}`, { headers: { host: 'shop.example' } })
    const first = await ask('/a')
    expect(first.status).toBe(200)
    expect(String(first.body)).toContain('page of /a for shop.example, https')
    await untilHit(() => ask('/a'))
    // A request that passes through names the visitor's address too.
    expect(String((await ask('/checkout/cart')).body)).toContain('https, 127.0.0.1')
    // A client on this machine that came through nginx may not purge.
    expect((await exchange(`${url}/a`, { method: 'PURGE', headers: { host: 'shop.example' } })).status).toBe(403)
  },
)
