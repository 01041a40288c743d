import { execFile, spawnSync, type ExecFileException } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import { cp, mkdir, writeFile } from 'node:fs/promises'
import { userInfo } from 'node:os'
import { join } from 'node:path'
import { answers, startChild, type Child } from './child.ts'
import { freePort } from './daemon.ts'
import { installed } from './rivals.ts'
import { scratch } from './scratch.ts'
import { configuration, installation, router } from './wordpress-php.ts'

/** Debian's packages of WordPress keep the program here; the theme is a package of its own. */
const programDir = '/usr/share/wordpress'
const theme = 'twentytwentythree'
const themeDirs = [`${programDir}/wp-content/themes/${theme}`, `/var/lib/wordpress/wp-content/themes/${theme}`]

export const login = { user: 'editor', password: 'wool-and-linen', displayName: 'Edda Editor' } as const

/** A WordPress with its own database, on 127.0.0.1 and in a temporary directory. */
export interface WordPress {
  /** URL of the PHP server. */
  url: string
  host: string
  /** Every request so far, as method and target. */
  requests(): string[]
  stop(): Promise<void>
}

/** The Debian packages that the machine lacks. */
export function missingPackages(): string[] {
  const modules = spawnSync('php', ['-m'], { encoding: 'utf8' }).stdout ?? ''
  const present: Record<string, boolean> = {
    wordpress: existsSync(join(programDir, 'wp-settings.php')),
    [`wordpress-theme-${theme}`]: themeDirs.some((directory) => existsSync(directory)),
    'php-cli': installed('php'),
    'php-mysql': modules.includes('mysqli'),
    'php-xml': modules.includes('SimpleXML'),
    'mariadb-server': installed('mariadbd') && installed('mariadb-install-db'),
  }
  return Object.keys(present).filter((name) => !present[name])
}

/**
 * Installs and starts WordPress with about 25 posts and a few pages. Its own idea of its address is
 * `publicUrl`, so that its links and its sitemap name what stands in front of it. Nothing outside the
 * temporary directory is written, nothing outside the machine is asked.
 */
export async function startWordPress(publicUrl: string): Promise<WordPress> {
  const { path: directory, discard } = await scratch('wordpress')
  const children: Child[] = []
  const stop = async () => {
    // PHP before its database.
    for (const child of children.toReversed()) await child.stop()
    await discard()
  }
  try {
    const [socket] = await Promise.all([startDatabase(directory, children), layOut(directory, publicUrl)])
    await writeFile(
      join(directory, 'site/wp-config.php'),
      configuration({ publicUrl, socket, secret: randomBytes(32).toString('hex') }),
    )
    await php(directory, 'install.php')
    const port = await freePort()
    children.push(await startPhp(directory, port))
    const requests = () => readFileSync(join(directory, 'access.log'), 'utf8').split('\n').slice(0, -1)
    return { url: `http://127.0.0.1:${port}`, host: `127.0.0.1:${port}`, requests, stop }
  } catch (error) {
    await stop()
    throw error
  }
}

async function layOut(directory: string, publicUrl: string): Promise<void> {
  const site = join(directory, 'site')
  // The package's own wp-config.php looks in /etc, next to wherever the program really is: hence a copy, links resolved.
  await cp(programDir, site, { recursive: true, dereference: true, filter: (source) => !source.endsWith('.htaccess') })
  const themeDir = themeDirs.find((candidate) => existsSync(candidate)) ?? ''
  await cp(themeDir, join(site, 'wp-content/themes', theme), { recursive: true, dereference: true })
  await mkdir(join(site, 'wp-content/uploads'), { recursive: true })
  await writeFile(join(directory, 'router.php'), router)
  await writeFile(join(directory, 'install.php'), installation({ publicUrl, theme, ...login }))
}

async function startDatabase(directory: string, children: Child[]): Promise<string> {
  const data = join(directory, 'db')
  const socket = join(directory, 'db.sock')
  const user = userInfo().username
  const install = [
    '--no-defaults',
    `--datadir=${data}`,
    `--user=${user}`,
    '--auth-root-authentication-method=normal',
    '--skip-test-db',
  ]
  await run('mariadb-install-db', install)
  const settings = [
    '--no-defaults',
    `--datadir=${data}`,
    `--socket=${socket}`,
    `--pid-file=${join(directory, 'db.pid')}`,
    `--user=${user}`,
    '--skip-networking',
    '--innodb-flush-log-at-trx-commit=0',
    '--innodb-buffer-pool-size=64M',
  ]
  const ready = (logs: string) => logs.includes('ready for connections') && existsSync(socket)
  children.push(await startChild(['mariadbd', ...settings], { env: environment(), ready }))
  return socket
}

async function startPhp(directory: string, port: number): Promise<Child> {
  const site = join(directory, 'site')
  const url = `http://127.0.0.1:${port}`
  return await startChild(
    ['php', ...phpSettings, '-S', `127.0.0.1:${port}`, '-t', site, join(directory, 'router.php')],
    {
      cwd: site,
      env: { ...environment(), PHP_CLI_SERVER_WORKERS: '4' },
      ready: () => answers(`${url}/wp-includes/css/buttons.css`),
    },
  )
}

/** PHP settings: mail is discarded, and compiled scripts are kept between requests. */
const phpSettings = [
  '-d',
  'sendmail_path=/bin/true',
  '-d',
  'opcache.enable_cli=1',
  '-d',
  'display_errors=stderr',
  '-d',
  'memory_limit=256M',
]

async function php(directory: string, script: string): Promise<void> {
  await run('php', [...phpSettings, join(directory, script)])
}

async function run(program: string, args: readonly string[]): Promise<string> {
  return await new Promise((resolve, reject) => {
    const done = (error: ExecFileException | null, stdout: string, stderr: string) =>
      error === null ? resolve(stdout) : reject(new Error(`${program} failed (${error.code}):\n${stdout}${stderr}`))
    execFile(program, args, { env: environment(), maxBuffer: 16 << 20 }, done)
  })
}

function environment(): NodeJS.ProcessEnv {
  return { ...process.env, PATH: `${process.env['PATH'] ?? ''}:/usr/sbin:/sbin` }
}
