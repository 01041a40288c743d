import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'vitest'
import { loadConfig, type ConfigFlags } from '../../src/config/load.ts'
import { PagecacheError } from '../../src/errors.ts'
import { tempDir } from '../helpers/temp-dir.ts'

/** Loads the configuration of a project directory whose pagecache.yaml has this text. */
export async function load(
  yaml: string | null,
  options: { flags?: ConfigFlags; variables?: Record<string, string> } = {},
) {
  const cwd = await tempDir()
  if (yaml !== null) await writeFile(join(cwd, 'pagecache.yaml'), yaml)
  return loadConfig(options.flags ?? {}, { cwd, variables: options.variables ?? {} })
}

/** Loads an invalid configuration and returns the error message. */
export async function fault(...given: Parameters<typeof load>): Promise<string> {
  const error: unknown = await load(...given).catch((thrown: unknown) => thrown)
  if (!(error instanceof PagecacheError)) throw new Error(`no error: ${String(error)}`)
  expect(error).toMatchObject({ code: 'CONFIG_INVALID', exit: 2 })
  return error.message
}

export const channel =
  '{ id: 0190c0de-0000-7000-8000-000000000001, name: Shop, url: http://shop.example, origin: "http://127.0.0.1:8000" }'
