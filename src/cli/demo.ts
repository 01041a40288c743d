import { tmpdir } from 'node:os'
import { processVariables } from '../config/environment.ts'
import { runDemo } from '../demo/run.ts'
import type { ShopwareVersion } from '../demo/shopware.ts'

/** Runs the demo shop behind a cache in a temporary directory. With `json`, stdout is left to the value. */
export function startDemo(options: {
  root: string
  port: number | null
  keep: boolean
  json: boolean
  version: ShopwareVersion
  signal: AbortSignal
}) {
  const { json, ...rest } = options
  const variables = processVariables()
  return runDemo({
    ...rest,
    // `npm run demo` runs in a checkout, where pagecache is not on the path.
    program: variables['npm_lifecycle_event'] === 'demo' ? 'npx pagecache' : 'pagecache',
    temporary: tmpdir(),
    latency: 'on',
    output: json ? 2 : 1,
    write: (text) => void (json ? process.stderr : process.stdout).write(text),
    variables,
  })
}
