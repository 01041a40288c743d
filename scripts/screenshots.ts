/**
 * Takes pictures of the admin page and the monitor on the demo: every view at three widths, light and dark, and the terminal at three sizes.
 * `npm run screenshots` writes all of them to a temporary directory, and those of the README to docs/images. Needs Chromium and tmux.
 */
import { spawn, type ChildProcess } from 'node:child_process'
import { copyFileSync, mkdirSync, mkdtempSync, statSync } from 'node:fs'
import { createServer, type AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { chromium, type Browser, type Page } from 'playwright-core'
import { addSampleDay } from './sample-day.ts'
import { drawTerminal } from './terminal-picture.ts'

const root = fileURLToPath(new URL('..', import.meta.url))
const program = join(root, 'bin/run.js')
const views = {
  overview: 'Overview',
  warmup: 'Warmup',
  purges: 'Purges',
  pages: 'Pages',
  queue: 'Queue and tasks',
  stages: 'Popup stages',
}
const widths = [1440, 1024, 390]
const schemes = ['light', 'dark'] as const
const terminals = [
  [80, 24],
  [120, 40],
  [200, 60],
] as const

/** Pictures in the documentation by their names there, and the longest file in bytes. */
const published: Readonly<Record<string, string>> = {
  'admin-light': 'overview-1440-light',
  'admin-dark': 'overview-1440-dark',
  'monitor-light': 'warmup-120-light',
  'monitor-dark': 'warmup-120-dark',
}
const largest = 150_000

const target = mkdtempSync(join(tmpdir(), 'pagecache-screenshots-'))
const demo = await startDemo()
try {
  const client = JSON.parse(await command('client:create', 'operator', '--json')) as Record<string, string>
  await addSampleDay(demo.directory)
  await addPurges()
  const browser = await chromium.launch({ executablePath: '/usr/bin/chromium', args: ['--no-sandbox'] })
  try {
    for (const scheme of schemes) for (const width of widths) await shootPage(browser, client, width, scheme)
    await shootTerminals(browser)
  } finally {
    await browser.close()
  }
  publish()
} finally {
  demo.child.kill('SIGINT')
}

/** Starts the demo, and waits until everything was shown once. */
async function startDemo(): Promise<{ child: ChildProcess; directory: string; url: string }> {
  const port = await freePort()
  const child = spawn(process.execPath, [program, 'demo', '--keep', '--port', String(port)], { cwd: target })
  let printed = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => void (printed += text))
  child.stderr.pipe(process.stderr)
  const url = `http://127.0.0.1:${port}`
  for (;;) {
    const directory = /client:create operator --project-dir (\S+)/.exec(printed)?.[1]
    if (directory !== undefined) return { child, directory, url }
    if (child.exitCode !== null) throw new Error(`The demo ended early:\n${printed}`)
    await pause(200)
  }
}

/** Runs a command on the demo; returns what it prints. */
async function command(...argv: string[]): Promise<string> {
  const child = spawn(process.execPath, [program, ...argv, '--project-dir', demo.directory], { cwd: target })
  let printed = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => void (printed += text))
  child.stderr.pipe(process.stderr)
  await new Promise((resolve) => child.once('close', resolve))
  return printed
}

/** A few purges and a second warmup of two pages, one of which fails. */
async function addPurges(): Promise<void> {
  const { items } = JSON.parse(await command('cache:list', '--type', 'products', '--limit', '4', '--json')) as {
    items: { url: string; tags: string[] }[]
  }
  for (const { url, tags } of items) {
    await command('purge:url', url)
    await command('purge:tag', tags[0] ?? '')
  }
}

async function shootPage(
  browser: Browser,
  { clientId = '', clientSecret = '' }: Record<string, string>,
  width: number,
  colorScheme: (typeof schemes)[number],
): Promise<void> {
  const context = await browser.newContext({ colorScheme, viewport: { width, height: 900 } })
  const page = await context.newPage()
  await page.goto(`${demo.url}/admin`)
  await page.getByLabel('Client ID').waitFor()
  await shoot(page, `login-${width}-${colorScheme}`)
  await page.getByLabel('Client ID').fill(clientId)
  await page.getByLabel('Client secret').fill(clientSecret)
  await page.getByRole('button', { name: 'Log in' }).click()
  for (const [view, title] of Object.entries(views)) {
    await page.goto(`${demo.url}/admin#${view}`)
    await page.getByRole('heading', { name: title, level: 1 }).waitFor()
    // Charts are the last thing to be drawn.
    if (view === 'overview') await page.locator('canvas').nth(1).waitFor()
    while ((await page.locator('[aria-busy=true]').count()) > 0) await pause(50)
    await shoot(page, `${view}-${width}-${colorScheme}`)
  }
  await page.goto(`${demo.url}/admin#overview`)
  await page.getByRole('button', { name: 'Clear all pages' }).click()
  await page.screenshot({ path: join(target, `dialog-${width}-${colorScheme}.png`) })
  await context.close()
}

/** The whole page; for the documentation its first screen. */
async function shoot(page: Page, name: string): Promise<void> {
  await page.screenshot({ path: join(target, `${name}.png`), fullPage: !Object.values(published).includes(name) })
}

async function shootTerminals(browser: Browser): Promise<void> {
  for (const [columns, rows] of terminals) {
    // A warmup that is still running while its picture is taken.
    await command('warmup:start', '--force')
    await drawTerminals(browser, `warmup-${columns}`, columns, await captureMonitor(columns, rows, '2'))
    await drawTerminals(browser, `monitor-${columns}`, columns, await captureMonitor(columns, rows, '1'))
    const visitors = visit()
    await drawTerminals(browser, `live-${columns}`, columns, await captureMonitor(columns, rows, '6'))
    visitors.abort()
    await command('warmup:cancel')
  }
}

/** Visits pages of the demo until it is aborted. */
function visit(): AbortController {
  const end = new AbortController()
  void (async () => {
    const { items } = JSON.parse(await command('cache:list', '--limit', '60', '--json')) as { items: { url: string }[] }
    const missed = [`${demo.url}/search?q=lamp`, `${demo.url}/checkout/cart`, `${demo.url}/de/no-such-page`]
    for (let turn = 0; !end.signal.aborted; turn += 1) {
      const url = turn % 7 === 0 ? missed[(turn / 7) % missed.length]! : items[(turn * turn) % items.length]!.url
      await fetch(url, { headers: { accept: 'text/html,*/*;q=0.8' } }).then((answer) => answer.arrayBuffer())
      await pause(60)
    }
  })()
  return end
}

async function drawTerminals(browser: Browser, name: string, columns: number, text: string): Promise<void> {
  for (const scheme of schemes) {
    const page = await browser.newPage({ colorScheme: scheme })
    await drawTerminal(page, text, { columns, scheme, path: join(target, `${name}-${scheme}.png`) })
    await page.close()
  }
}

/** What a tab of the monitor shows in a terminal of this size, with its colours. */
async function captureMonitor(columns: number, rows: number, tab: string): Promise<string> {
  const socket = `pagecache-screenshots-${process.pid}`
  const tmux = (...argv: string[]) => run('tmux', ['-L', socket, '-f', '/dev/null', ...argv])
  const monitor = `${process.execPath} ${program} monitor --project-dir ${demo.directory}`
  await tmux('new-session', '-d', '-x', String(columns), '-y', String(rows), '-s', 'picture', monitor)
  try {
    for (;;) {
      await pause(1500)
      // A key that is sent before the monitor reads keys is shown as text.
      if (!/pagecache/.test(await tmux('capture-pane', '-p', '-t', 'picture'))) continue
      await tmux('send-keys', '-t', 'picture', tab)
      await pause(3000)
      const text = await tmux('capture-pane', '-p', '-e', '-t', 'picture')
      if (!/loading/.test(text)) return text
    }
  } finally {
    await tmux('kill-server')
  }
}

async function run(file: string, argv: readonly string[]): Promise<string> {
  const child = spawn(file, argv, {
    env: { ...process.env, TERM: 'xterm-256color', COLORTERM: 'truecolor', LANG: 'C.UTF-8' },
  })
  let printed = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => void (printed += text))
  await new Promise((resolve) => child.once('close', resolve))
  return printed
}

function publish(): void {
  const images = join(root, 'docs/images')
  mkdirSync(images, { recursive: true })
  for (const [title, name] of Object.entries(published)) {
    const { size } = statSync(join(target, `${name}.png`))
    if (size > largest) throw new Error(`${name}.png has ${size} bytes, more than ${largest}`)
    copyFileSync(join(target, `${name}.png`), join(images, `${title}.png`))
  }
  process.stdout.write(`All pictures: ${target}\nThose of the README: ${images}\n`)
}

async function freePort(): Promise<number> {
  const probe = createServer()
  await new Promise<void>((resolve) => probe.listen(0, '127.0.0.1', resolve))
  const { port } = probe.address() as AddressInfo
  await new Promise((resolve) => probe.close(resolve))
  return port
}

function pause(milliseconds: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, milliseconds))
}
