import { mkdir, writeFile } from 'node:fs/promises'
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { answers, startChild, type Child } from './child.ts'
import { freePort } from './daemon.ts'
import { scratch } from './scratch.ts'

/** Another cache in front of the same origin, on 127.0.0.1 and with all its files in a temporary directory. */
export interface Rival {
  url: string
  port: number
  pid: number
  logs(): string
  stop(): Promise<void>
}

export interface RivalOptions {
  /** `host:port` of the origin. */
  origin: string
  /** A path that the origin answers with 200, requested until the rival is ready. */
  probe: string
  /** Command to run the program with, for example `['taskset', '-c', '0']`. */
  prefix?: readonly string[]
}

/** Rivals are installed where `PATH` may leave them out. */
export const rivalEnvironment = { ...process.env, PATH: `${process.env['PATH'] ?? ''}:/usr/sbin:/sbin` }

/** Whether a program is installed in `PATH` or in `/usr/sbin`, which `PATH` may omit. */
export function installed(program: string): boolean {
  return spawnSync('sh', ['-c', `command -v ${program}`], { env: rivalEnvironment }).status === 0
}

/** Cookies that only browser scripts read: a shop's proxy removes them before it looks for a session. */
const analyticsCookies = '(_ga|_gid|_gcl|_fbp|_hj|utm)[A-Za-z0-9_]*'

/** Varnish that drops analytics cookies and bypasses other cookies. `vcl` is put before that, and the built-in VCL does the rest. */
export async function startVarnish(options: RivalOptions & { vcl: string }): Promise<Rival> {
  const [host, originPort] = options.origin.split(':')
  const vcl = `vcl 4.1;
${options.vcl}
backend default { .host = "${host}"; .port = "${originPort}"; }
sub vcl_recv {
  if (req.http.Cookie) {
    set req.http.Cookie = regsuball(req.http.Cookie, "(^|; ?)${analyticsCookies}=[^;]*", "");
    set req.http.Cookie = regsub(req.http.Cookie, "^[; ]+", "");
    if (req.http.Cookie == "") { unset req.http.Cookie; }
  }
}
`
  return await startRival('varnish', options, async (directory, port) => {
    await writeFile(join(directory, 'shop.vcl'), vcl)
    const settings = [
      '-n',
      join(directory, 'work'),
      '-f',
      join(directory, 'shop.vcl'),
      '-s',
      'malloc,128m',
      '-j',
      'none',
      '-T',
      'none',
    ]
    return ['varnishd', '-F', '-a', `127.0.0.1:${port}`, ...settings]
  })
}

/**
 * nginx proxy_cache as a shop runs it: one worker, open_file_cache, kept connections to the shop, the session cookie bypasses, gzip and
 * identity kept apart by the origin's Vary, one request renews a stale page in the background.
 */
export async function startNginx(options: RivalOptions): Promise<Rival> {
  return await startRival('nginx', options, async (directory, port) => {
    await mkdir(join(directory, 'logs'))
    const configuration = join(directory, 'nginx.conf')
    await writeFile(configuration, nginxConfiguration(directory, cachingServer(directory, port, options.origin)))
    return ['nginx', '-p', directory, '-c', configuration, '-e', join(directory, 'logs/error.log')]
  })
}

/** The configuration of an nginx with one worker and all its files in a directory; `servers` goes into its `http` block. */
export function nginxConfiguration(directory: string, servers: string): string {
  const places = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
    (name) => `  ${name}_temp_path ${directory}/${name};`,
  )
  // If the master runs as root, its workers drop to an unprivileged user that cannot enter the directory.
  const user = process.getuid?.() === 0 ? 'user root;\n' : ''
  return `${user}daemon off;
worker_processes 1;
pid ${directory}/nginx.pid;
error_log ${directory}/logs/error.log;
events { worker_connections 1024; }
http {
${places.join('\n')}
  access_log off;
  sendfile on;
  tcp_nopush on;
  keepalive_requests 100000000;
  open_file_cache max=10000 inactive=60s;
  open_file_cache_valid 60s;
  open_file_cache_min_uses 1;
${servers}}
`
}

export function cachingServer(directory: string, port: number, origin: string): string {
  return `  proxy_cache_path ${directory}/cache levels=1:2 keys_zone=shop:64m max_size=2g inactive=1h use_temp_path=off;
  map $http_accept_encoding $coding { default ""; "~gzip" "gzip"; }
  upstream shop { server ${origin}; keepalive 128; keepalive_requests 100000000; }
  server {
    listen 127.0.0.1:${port};
    location / {
      proxy_pass http://shop;
      proxy_http_version 1.1;
      proxy_set_header Connection "";
      proxy_set_header Host $http_host;
      proxy_set_header Accept-Encoding $coding;
      proxy_cache shop;
      proxy_cache_key $scheme$http_host$request_uri;
      proxy_cache_lock on;
      proxy_cache_use_stale updating;
      proxy_cache_background_update on;
      proxy_cache_bypass $cookie_session;
      proxy_no_cache $cookie_session;
      add_header X-Cache $upstream_cache_status;
    }
  }
`
}

async function startRival(
  name: string,
  options: RivalOptions,
  prepare: (directory: string, port: number) => Promise<readonly string[]>,
): Promise<Rival> {
  const { path: directory, discard } = await scratch(name)
  const port = await freePort()
  const url = `http://127.0.0.1:${port}`
  let child: Child
  try {
    const argv = [...(options.prefix ?? []), ...(await prepare(directory, port))] as [string]
    child = await startChild(argv, { cwd: directory, env: rivalEnvironment, ready: () => answers(url + options.probe) })
  } catch (error) {
    await discard()
    throw error
  }
  return {
    url,
    port,
    pid: child.pid,
    logs: child.logs,
    async stop() {
      await child.stop()
      await discard()
    },
  }
}
