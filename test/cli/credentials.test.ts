import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { run, start } from '../helpers/cli.ts'
import { startOrigin } from '../helpers/origin.ts'
import { tempDir } from '../helpers/temp-dir.ts'

const id = '0190c0de-0000-7000-8000-000000000001'

/** Starts a daemon, stops it once it listens, and returns its output. */
async function printedByServe(args: readonly string[], cwd: string): Promise<string> {
  const child = start(['serve', '--port', '0', ...args], { cwd })
  let printed = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      printed += text
      if (printed.includes('listens on')) child.kill('SIGTERM')
    })
  }
  await once(child, 'close')
  return printed
}

it('no command prints credentials in the URL of a shop', async () => {
  const origin = await startOrigin()
  const address = origin.url.replace('http://', 'http://user:canary@')
  const cwd = await tempDir()
  const channel = {
    id,
    name: 'Shop',
    url: 'http://shop.example',
    origin: address,
    sitemaps: ['/sitemap.xml?token=canary'],
  }
  await writeFile(join(cwd, 'pagecache.yaml'), JSON.stringify({ server: { port: 0 }, salesChannels: [channel] }))
  try {
    const served = await printedByServe([], cwd)
    expect(served).toContain(`Shop: http://shop.example from ${origin.url.replace('http://', 'http://***@')}`)
    const printed = [served, await printedByServe(['--origin', address], await tempDir())]
    const commands = [
      'config:show',
      'doctor',
      'warmup:start --wait',
      'warmup:start --wait --json',
      'warmup:start --dry-run',
      'cache:inspect http://shop.example/a',
      'cache:inspect http://other.example/',
    ]
    for (const command of commands) {
      const { stdout, stderr } = await run(command.split(' '), { cwd })
      printed.push(stdout, stderr)
    }
    const { stdout, stderr } = await run(['init', '--json', '--url', 'http://shop.example', '--origin', address], {
      cwd: await tempDir(),
    })
    expect(JSON.parse(stdout)).toMatchObject({ salesChannel: { origin: origin.url.replace('http://', 'http://***@') } })
    printed.push(stdout, stderr)
    expect(printed.join('\n')).toContain('answered 404')
    expect(printed.join('\n')).not.toContain('canary')
  } finally {
    await origin.stop()
  }
})
