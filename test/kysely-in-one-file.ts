import { existsSync, renameSync } from 'node:fs'
import { createRequire, registerHooks } from 'node:module'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'

/**
 * Makes one file of Kysely's 300 for the tests, once per version: each process and thread loads it in a tenth of the time.
 *
 * @returns the arguments with which Node uses it, which threads and forked programs inherit
 */
export async function kyselyInOneFile(root: string): Promise<string[]> {
  const require = createRequire(join(root, 'package.json'))
  const input = require.resolve('kysely')
  const { version } = require(join(root, 'node_modules/kysely/package.json')) as { version: string }
  const file = join(root, `node_modules/.cache/kysely-${version}.mjs`)
  if (!existsSync(file)) {
    const { rolldown } = await import('rolldown')
    const build = await rolldown({ input, platform: 'node' })
    // Renamed when it is whole: other runs of the tests may be starting.
    const written = `${file}.${process.pid}`
    await build.write({ file: written, format: 'esm' })
    await build.close()
    renameSync(written, file)
  }
  const hook = pathToFileURL(import.meta.filename)
  hook.search = new URLSearchParams({ input: pathToFileURL(input).href, file: pathToFileURL(file).href }).toString()
  return ['--import', hook.href]
}

const { searchParams } = new URL(import.meta.url)
const [input, file] = [searchParams.get('input'), searchParams.get('file')]
if (input !== null && file !== null)
  registerHooks({
    resolve(specifier, context, next) {
      const resolved = next(specifier, context)
      return resolved.url === input ? { url: file, format: 'module', shortCircuit: true } : resolved
    },
  })
