import { type AddressInfo, createServer as createTcpServer } from 'node:net'
import { createServer, type RequestListener } from 'node:http'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { stringify } from 'yaml'
import { onTestFinished } from 'vitest'
import { App } from '../../src/app.ts'
import { loadConfig } from '../../src/config/load.ts'
import { doctor } from '../../src/operations/doctor.ts'
import { tempDir } from '../helpers/temp-dir.ts'
import { perform } from './perform.ts'

/** Examines a project with this configuration; the findings by name. */
export async function examine(
  config: object | string | null,
  prepare: (projectDir: string) => Promise<void> = async () => {},
) {
  const projectDir = await tempDir()
  if (config !== null)
    await writeFile(join(projectDir, 'pagecache.yaml'), typeof config === 'string' ? config : stringify(config))
  await prepare(projectDir)
  const loaded = await loadConfig({}, { cwd: projectDir, variables: {}, tolerateFaults: true })
  const app = new App({ loaded, onWarning: () => {} })
  try {
    const { success, checks } = await perform(app, doctor, {})
    return { success, checks: Object.fromEntries(checks.map((check) => [check.name, check])) }
  } finally {
    await app.close()
  }
}

async function listen(server: ReturnType<typeof createTcpServer>): Promise<number> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => new Promise<void>((resolve) => server.close(() => resolve())))
  return (server.address() as AddressInfo).port
}

export function shop(listener: RequestListener): Promise<number> {
  return listen(
    createServer((request, response) => {
      response.setHeader('connection', 'close')
      listener(request, response)
    }),
  )
}

/** Finds a closed port. */
export async function closedPort(): Promise<number> {
  const server = createTcpServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  await new Promise<void>((resolve) => server.close(() => resolve()))
  return port
}

export function channel(port: number, more: object = {}): object {
  return {
    id: '0190c0de-0000-7000-8000-000000000001',
    url: 'http://shop.example/de',
    origin: `http://127.0.0.1:${port}`,
    ...more,
  }
}

export const server = { port: 0 }
