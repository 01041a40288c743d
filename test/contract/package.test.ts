import { cp, mkdir, readFile, readdir, symlink } from 'node:fs/promises'
import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { describe, expect, it, onTestFinished } from 'vitest'
import { loadConfig } from '../../src/config/load.ts'
import { startChild } from '../helpers/child.ts'
import { freePort } from '../helpers/daemon.ts'
import { exchange } from '../helpers/exchange.ts'
import { startOrigin } from '../helpers/origin.ts'
import { tempDir } from '../helpers/temp-dir.ts'
import { page } from '../http/api/shop.ts'

const exec = promisify(execFile)
const root = fileURLToPath(new URL('../../', import.meta.url))

interface PackageFile {
  version: string
  dependencies: Record<string, string>
}

async function packageFile(): Promise<PackageFile> {
  return JSON.parse(await readFile(join(root, 'package.json'), 'utf8')) as PackageFile
}

/** Reproduces an `npm install` of the tarball: its files and the packages that it names, and nothing else of this repository. */
async function install(): Promise<string> {
  const directory = await tempDir()
  const { stdout } = await exec('npm', ['pack', '--silent', '--ignore-scripts', '--pack-destination', directory], {
    cwd: root,
  })
  await exec('tar', ['xzf', join(directory, stdout.trim()), '-C', directory])
  const installed = join(directory, 'package')
  await mkdir(join(installed, 'node_modules'))
  for (const name of Object.keys((await packageFile()).dependencies))
    await symlink(join(root, 'node_modules', name), join(installed, 'node_modules', name))
  return installed
}

describe('the published package', () => {
  it('prints its version and serves with its declared dependencies only', async () => {
    const program = join(await install(), 'bin', 'run.js')
    const { version } = await packageFile()
    const { stdout } = await exec(process.execPath, [program, '--version'])
    expect(stdout).toMatch(new RegExp(`^pagecache/${version.replaceAll('.', '\\.')} `))
    const origin = await startOrigin({ otherwise: (request) => page(`page of ${request.path}`) })
    onTestFinished(() => origin.stop())
    const port = await freePort()
    const cwd = await tempDir()
    const daemon = await startChild(
      [process.execPath, program, 'serve', '--origin', origin.url, '--port', String(port)],
      {
        cwd,
        env: { ...process.env, PAGECACHE_PROJECT_DIR: cwd },
        ready: (logs) => logs.includes('pagecache listens on'),
      },
    )
    onTestFinished(async () => void (await daemon.stop()))
    expect(await exchange(`http://127.0.0.1:${port}/a`)).toMatchObject({ status: 200 })
    expect((await exchange(`http://127.0.0.1:${port}/admin`)).status).toBe(200)
    expect(await daemon.stop()).toBe(0)
  })

  it('declares exactly the packages that the bundle imports', async () => {
    const files = (await readdir(join(root, 'dist'), { recursive: true })).filter((file) => file.endsWith('.js'))
    const code = await Promise.all(files.map((file) => readFile(join(root, 'dist', file), 'utf8')))
    const imported = code.flatMap((text) =>
      [
        ...text.matchAll(
          /(?:\bfrom|\bimport\(?|\brequire\(|\bdirname\(__require\.resolve\()\s*["'`]((?:@[a-z][\w.-]*\/)?[a-z][\w.-]*)(?:\/[\w./-]+)?["'`]/g,
        ),
      ].map(([, name]) => name!),
    )
    expect([...new Set(imported)].sort()).toEqual(Object.keys((await packageFile()).dependencies).sort())
  })
})

it('includes the licence texts of the bundled libraries', async () => {
  const text = await readFile(join(root, 'dist/LICENCES.txt'), 'utf8')
  // One of each bundle: the commands, the operators' page, its style sheet.
  for (const [name, words] of Object.entries({
    h3: 'Permission is hereby granted',
    preact: 'Permission is hereby granted',
    uplot: 'Permission is hereby granted',
  })) {
    const { version } = JSON.parse(await readFile(join(root, 'node_modules', name, 'package.json'), 'utf8')) as {
      version: string
    }
    const [, its = ''] = text.split(`${name} ${version} (`)
    expect(its.split('-'.repeat(80))[0], name).toContain(words)
  }
})

describe('docs/deploy/Containerfile', () => {
  const readContainerfile = () => readFile(join(root, 'docs/deploy/Containerfile'), 'utf8')

  it('gets every file it builds from and no private files', async () => {
    const [first, ...others] = (await readFile(join(root, '.dockerignore'), 'utf8'))
      .split('\n')
      .filter((line) => line !== '' && !line.startsWith('#'))
    // Only listed files are included, because a checkout may contain anything (var, keys, .git).
    expect(first).toBe('*')
    const names = others.map((line) => line.replace(/^!/, ''))
    expect(others).toEqual(names.map((name) => `!${name}`))
    const context = await tempDir()
    for (const name of names) await cp(join(root, name), join(context, name), { recursive: true })
    await symlink(join(root, 'node_modules'), join(context, 'node_modules'))
    expect(await readContainerfile()).toContain(
      'npm ci --ignore-scripts --no-audit --no-fund && npm run build && npm pack --silent',
    )
    await exec(process.execPath, ['scripts/build.js'], { cwd: context })
    const packed = async (cwd: string) =>
      (
        JSON.parse((await exec('npm', ['pack', '--dry-run', '--json', '--ignore-scripts'], { cwd })).stdout) as {
          files: { path: string }[]
        }[]
      )[0]!.files
        .map(({ path }) => path.replace(/-[\w-]{8}\.js$/, '.js'))
        .sort()
    expect(await packed(context)).toEqual(await packed(root))
  })

  it('checks the health on its exposed port and runs as an unprivileged user', async () => {
    const text = await readContainerfile()
    const port = /^EXPOSE (\d+)$/m.exec(text)![1]!
    expect(text).toContain(`http://127.0.0.1:${port}/healthz`)
    expect(text).toMatch(/^USER node$/m)
  })
})

describe('the systemd units', () => {
  const readUnit = (name: string) => readFile(join(root, 'docs/deploy', name), 'utf8')
  const valuesOf = (unit: string, key: string) =>
    [...unit.matchAll(new RegExp(`^${key}=(.*)$`, 'gm'))].map(([, value]) => value!)

  it('start the program at its documented path with one socket', async () => {
    const [service, socket, guide] = await Promise.all([
      readUnit('pagecache.service'),
      readUnit('pagecache.socket'),
      readFile(join(root, 'docs/deploy.md'), 'utf8'),
    ])
    const [, prefix] = /npm install --global --prefix (\S+) pagecache/.exec(guide)!
    expect(valuesOf(service, 'ExecStart')).toEqual([`${prefix}/bin/pagecache serve`])
    expect(valuesOf(socket, 'ListenStream')).toHaveLength(1)
  })

  it("allow the daemon's own shutdown deadlines", async () => {
    const service = await readUnit('pagecache.service')
    const { server, warmup } = (await loadConfig({ projectDir: await tempDir() }, { variables: {} })).config
    const [seconds] = valuesOf(service, 'TimeoutStopSec').map(Number)
    expect(seconds! * 1000).toBeGreaterThan(Math.max(server.stopDelay + server.stopGrace, warmup.timeout))
  })

  it('do not forbid memory that V8 needs', async () => {
    expect(valuesOf(await readUnit('pagecache.service'), 'MemoryDenyWriteExecute')).toEqual([])
  })
})
