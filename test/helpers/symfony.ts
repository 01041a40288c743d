import { existsSync, readFileSync } from 'node:fs'
import { rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { answers, startChild } from './child.ts'
import { freePort } from './daemon.ts'
import { installed } from './rivals.ts'
import { scratch } from './scratch.ts'

const program = fileURLToPath(new URL('symfony/shop.php', import.meta.url))

/** What the pages show. */
export interface Texts {
  header: string
  footer: string
  /** Put into every page without escaping it. */
  review?: string
  /** Routes of further fragments by the name of a page. */
  parts?: Readonly<Record<string, readonly string[]>>
  /** How long the header takes, in milliseconds. */
  delay?: number
}

/** A shop on Symfony's own kernel, whose pages include their header and footer with `render_esi`. */
export interface SymfonyShop {
  url: string
  /** The paths of all requests so far. */
  requests(): string[]
  show(texts: Texts): Promise<void>
  stop(): Promise<void>
}

/** The Debian packages that the machine lacks. */
export function missingSymfony(): string[] {
  const classes = '/usr/share/php/Symfony'
  const present: Record<string, boolean> = {
    'php-cli': installed('php'),
    'php-symfony-framework-bundle': existsSync(`${classes}/Bundle/FrameworkBundle/autoload.php`),
    'php-symfony-twig-bundle': existsSync(`${classes}/Bundle/TwigBundle/autoload.php`),
  }
  return Object.keys(present).filter((name) => !present[name])
}

export async function startSymfony(texts: Texts): Promise<SymfonyShop> {
  const { path: directory, discard } = await scratch('pagecache-symfony')
  // Renamed into place: a request must not read half a file.
  const show = async (shown: Texts) => {
    await writeFile(join(directory, 'texts.new'), JSON.stringify(shown))
    await rename(join(directory, 'texts.new'), join(directory, 'texts.json'))
  }
  await show(texts)
  const port = await freePort()
  const url = `http://127.0.0.1:${port}`
  const settings = ['-d', 'opcache.enable_cli=1', '-d', 'display_errors=stderr']
  const php = await startChild(['php', ...settings, '-S', `127.0.0.1:${port}`, program], {
    env: { ...process.env, SHOP_DIR: directory, PHP_CLI_SERVER_WORKERS: '4' },
    ready: () => answers(`${url}/ready`),
  }).catch(async (error: unknown) => {
    await discard()
    throw error
  })
  return {
    url,
    requests: () => readFileSync(join(directory, 'access.log'), 'utf8').split('\n').slice(0, -1),
    show,
    stop: async () => {
      await php.stop()
      await discard()
    },
  }
}
