import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { answers, startChild } from '../../test/helpers/child.ts'
import { freePort } from '../../test/helpers/daemon.ts'
import { nginxConfiguration, rivalEnvironment } from '../../test/helpers/rivals.ts'
import { startOrigin, type Origin } from '../../test/helpers/origin.ts'
import { scratch } from '../../test/helpers/scratch.ts'
import { onLoadCore } from './cores.ts'
import { samplePage } from './page.ts'

/** Every path below it is the sample page, gzipped for clients that accept it, with its own tag. */
export const category = '/category/'
/** Like `category`, without compression. */
export const uncompressed = '/uncompressed/'
/** Every path below it is the sample page, with a header and a footer from fragments. */
export const composed = '/composed/'
/** Never stored: the sample page's 20 kB without compression, for any method. */
export const account = '/account/orders'
/** Never stored: two bytes, for any method. */
export const basket = '/checkout/info'
export const basketBody = 'ok'
/** Every path below it is cacheable and takes the shop `slowMs`. */
export const slow = '/slow/'
/** Like `slow`, and fresh for one second, then stale for an hour. */
export const expiring = '/slow/expiring/'
export const slowMs = 50

/** A shop that is faster than every cache before it: nginx with prepared answers, on the load's core. */
export interface FastShop {
  url: string
  host: string
  /** The number of requests that the caches have sent it. */
  requests(): Promise<number>
  /** The number of requests for a path below `slow`. */
  slowRequests(path: string): number
  stop(): Promise<void>
}

export async function startFastShop(): Promise<FastShop> {
  const { path: directory, discard } = await scratch('shop')
  const slowShop = await startSlowShop()
  const [port, statusPort] = [await freePort(), await freePort()]
  await mkdir(join(directory, 'logs'))
  const page = samplePage()
  await writeFile(join(directory, 'page.html'), page.identity)
  await writeFile(join(directory, 'page.html.gz'), page.gzip)
  const [header, main, footer] = [
    page.identity.subarray(0, 3000),
    page.identity.subarray(3000, -1000),
    page.identity.subarray(-1000),
  ]
  const include = (name: string) => `<esi:include src="/_esi/${name}" onerror="continue" />`
  await mkdir(join(directory, '_esi'))
  await writeFile(join(directory, '_esi/header'), header)
  await writeFile(join(directory, '_esi/footer'), footer)
  await writeFile(join(directory, 'composed.html'), `${include('header')}${main.toString()}${include('footer')}`)
  const file = join(directory, 'nginx.conf')
  await writeFile(
    file,
    nginxConfiguration(directory, servers({ directory, port, statusPort, slow: slowShop.host, body: page.identity })),
  )
  const url = `http://127.0.0.1:${port}`
  const child = await startChild(
    [...onLoadCore, 'nginx', '-p', directory, '-c', file, '-e', join(directory, 'errors')],
    {
      cwd: directory,
      env: rivalEnvironment,
      ready: () => answers(url + basket),
    },
  )
  let own = 0
  return {
    url,
    host: `127.0.0.1:${port}`,
    async requests() {
      const text = await (await fetch(`http://127.0.0.1:${statusPort}/`)).text()
      own += 1
      return Number(/(\d+) *\n *Reading/.exec(text)?.[1]) - own
    },
    slowRequests: (path) => slowShop.hits(path),
    async stop() {
      await child.stop()
      await slowShop.stop()
      await discard()
    },
  }
}

/** For the rows that count requests, the shop has to take time, not to be fast. */
async function startSlowShop(): Promise<Origin> {
  return await startOrigin({
    async otherwise({ path }) {
      await pause(slowMs)
      const lifetime = path.startsWith(expiring) ? 'max-age=1, stale-while-revalidate=3600' : 'max-age=3600'
      return {
        headers: { 'content-type': 'text/html', 'cache-control': `public, ${lifetime}` },
        body: samplePage().identity,
      }
    },
  })
}

interface Servers {
  directory: string
  port: number
  statusPort: number
  slow: string
  body: Buffer
}

function servers({ directory, port, statusPort, slow: slowHost, body }: Servers): string {
  const pieces = body.toString('latin1').match(/[^]{1,2000}/g) ?? []
  const set = pieces.map((piece, i) => `set $piece${i} "${piece.replaceAll(/["\\]/g, '\\$&')}";`)
  const pages = `types { }
      default_type "text/html; charset=UTF-8";
      add_header Cache-Control "public, max-age=3600";
      add_header xkey "navigation footer theme category-7 page-$request_uri";
      try_files /page.html =404;`
  return `  server {
    listen 127.0.0.1:${statusPort};
    location / { stub_status; }
  }
  server {
    listen 127.0.0.1:${port} backlog=1024;
    root ${directory};
    keepalive_timeout 300s;
    location ${category} {
      gzip_static on;
      gzip_vary on;
      # pagecache names itself in Via, and nginx would take the client for one that cannot store what is compressed.
      gzip_proxied any;
      ${pages}
    }
    location ${uncompressed} {
      ${pages}
    }
    location ${composed} {
      types { }
      default_type "text/html; charset=UTF-8";
      add_header Cache-Control "public, max-age=3600";
      add_header Surrogate-Control 'content="ESI/1.0"';
      add_header xkey "category-7 page-$request_uri";
      try_files /composed.html =404;
    }
    location /_esi/ {
      types { }
      default_type "text/html; charset=UTF-8";
      add_header Cache-Control "public, max-age=3600";
      add_header xkey "navigation footer theme";
    }
    location ${account} {
      default_type "text/html; charset=UTF-8";
      add_header Cache-Control "private, no-store";
      ${set.join('\n      ')}
      return 200 "${pieces.map((_, i) => `$piece${i}`).join('')}";
    }
    location ${basket} {
      default_type text/plain;
      add_header Cache-Control "private, no-store";
      return 200 "${basketBody}";
    }
    location ${slow} { proxy_pass http://${slowHost}; }
  }
`
}
