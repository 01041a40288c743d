import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { mkdir, readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, it, onTestFinished } from 'vitest'
import { runDemo, type DemoOptions } from '../../src/demo/run.ts'
import { start } from '../helpers/cli.ts'
import { tempDir } from '../helpers/temp-dir.ts'
import { until } from '../helpers/until.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))

async function options(changed: Partial<DemoOptions>): Promise<DemoOptions & { text(): string }> {
  const temporary = await tempDir()
  let text = ''
  const write = (part: string) => void (text += part)
  const signal = new AbortController().signal
  return {
    root,
    program: 'pagecache',
    temporary,
    port: null,
    keep: false,
    latency: 'off',
    version: '6.7',
    output: 2,
    variables: process.env,
    signal,
    write,
    text: () => text,
    ...changed,
  }
}

/** A package with the real shop and the given text as its program. */
async function packageWith(program: string): Promise<string> {
  const directory = await tempDir()
  await mkdir(join(directory, 'bin'))
  await mkdir(join(directory, 'dist/demo'), { recursive: true })
  await writeFile(join(directory, 'package.json'), '{"type":"module"}')
  await writeFile(join(directory, 'bin/run.js'), program)
  await writeFile(
    join(directory, 'dist/demo/shop-main.js'),
    `import ${JSON.stringify(join(root, 'src/demo/shop-main.ts'))}`,
  )
  return directory
}

it('runs the whole demo and leaves nothing behind', async () => {
  const demo = await options({})
  const result = await runDemo(demo)
  expect(result.pages).toBeGreaterThanOrEqual(600)
  for (const command of ['serve', 'warmup:start --wait', 'cache:stats', 'cache:inspect http', 'vendor:cache:clear']) {
    expect(demo.text()).toContain(`$ pagecache ${command}`)
  }
  expect(demo.text()).toContain('Only Ada read "Hello Ada", and only she saw the prices for dealers.')
  expect(demo.text()).toMatch(/Product, purged +€42\.00/)
  expect(demo.text()).toContain('Both show the new menu.')
  expect(demo.text()).toContain('Next steps')
  expect(await readdir(demo.temporary)).toEqual([])
})

it('keeps shop and cache running until its signal is aborted', async () => {
  const ending = new AbortController()
  const demo = await options({ keep: true, signal: ending.signal })
  const running = runDemo(demo)
  await until(() => expect(demo.text()).toContain('keep running until Ctrl-C'))
  const url = /in front of it runs at (\S+)\.\n/.exec(demo.text())?.[1] ?? ''
  const page = await fetch(url)
  expect([page.status, page.headers.get('cache-status')]).toEqual([200, expect.stringContaining('hit')])
  ending.abort()
  await running
  await expect(fetch(url)).rejects.toThrow()
  expect(await readdir(demo.temporary)).toEqual([])
})

it('fails at once if its port is taken, and leaves nothing behind', async () => {
  const server = createServer((_, response) => response.end('somebody else, who is ready'))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void server.close())
  const { port } = server.address() as AddressInfo
  const demo = await options({ port })
  await expect(runDemo(demo)).rejects.toMatchObject({
    code: 'LISTEN_FAILED',
    exit: 1,
    message: `Cannot listen on 127.0.0.1:${port}: EADDRINUSE`,
  })
  expect(demo.text()).toBe('')
  expect(await readdir(demo.temporary)).toEqual([])
})

it('reports an interrupt once, and leaves nothing behind', async () => {
  const temporary = await tempDir()
  const child = start(['demo'], { cwd: temporary, env: { TMPDIR: temporary } })
  let stdout = ''
  let stderr = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => void (stdout += text))
  child.stderr.setEncoding('utf8').on('data', (text: string) => void (stderr += text))
  const closed = once(child, 'close')
  await until(() => expect(stdout + stderr).toContain('Reading sitemaps'))
  child.kill('SIGINT')
  expect((await closed)[0]).toBe(130)
  expect(stderr.match(/Interrupted/g)).toHaveLength(1)
  expect((await readdir(temporary)).filter((name) => name.startsWith('pagecache'))).toEqual([])
})

it('ends shop and cache when it is killed', async () => {
  const temporary = await tempDir()
  const child = start(['demo'], { cwd: temporary, env: { TMPDIR: temporary } })
  let stdout = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => void (stdout += text))
  child.stderr.resume()
  await until(() => expect(stdout).toMatch(/in front of it runs at \S+\.\n/))
  const urls = [/demo shop with \d+ pages runs at (\S+)\.\n/, /in front of it runs at (\S+)\.\n/].map(
    (pattern) => pattern.exec(stdout)?.[1] ?? '',
  )
  for (const url of urls) expect((await fetch(url)).status).toBe(200)
  child.kill('SIGKILL')
  for (const url of urls)
    await until(() =>
      fetch(url).then(
        () => false,
        () => true,
      ),
    )
})

it('reports why the cache does not start', async () => {
  const demo = await options({ root: await packageWith('console.error("Error: the port is taken"); process.exit(1)') })
  await expect(runDemo(demo)).rejects.toMatchObject({
    code: 'CHECK_FAILED',
    message: expect.stringMatching(/^run\.js serve exited with 1\.\nError: the port is taken$/),
  })
  expect(await readdir(demo.temporary)).toEqual([])
})

it('fails if the cache requests a warmed page from the shop', async () => {
  const program = `
    import { createServer } from 'node:http'
    import { readFileSync } from 'node:fs'
    const { server, salesChannels } = JSON.parse(readFileSync('pagecache.yaml', 'utf8'))
    if (process.argv[2] === 'serve') createServer(async (request, response) => {
      response.setHeader('cache-status', 'pagecache; fwd=miss')
      response.end(request.url === '/readyz' ? '' : await (await fetch(salesChannels[0].origin + request.url)).text())
    }).listen(server.port, server.host)`
  const demo = await options({ root: await packageWith(program) })
  await expect(runDemo(demo)).rejects.toMatchObject({
    code: 'CHECK_FAILED',
    message: 'Expected a hit for a warmed product page; got 200, Cache-Status: pagecache; fwd=miss.',
  })
  expect(await readdir(demo.temporary)).toEqual([])
})
