import * as z from 'zod/mini'
import { describeConfig } from '../config/describe.ts'
import { success, succeeded } from './fields.ts'
import { defineOperation } from './operation.ts'

export const showConfig = defineOperation({
  name: 'config.show',
  summary: 'Shows the effective configuration and the source of each value',
  input: z.object({}),
  output: z.object({
    success,
    environment: z.string(),
    projectDir: z.string(),
    cacheDir: z.string(),
    dataDir: z.string(),
    file: z.nullable(z.string()),
    values: z.array(z.object({ key: z.string(), value: z.unknown(), source: z.string() })),
  }),
  http: { method: 'GET', path: '/config' },
  async run({ app }) {
    const { environment, places, file } = app.loaded
    const { projectDir, cacheDir, dataDir } = places
    return { ...succeeded, environment, projectDir, cacheDir, dataDir, file, values: describeConfig(app.loaded) }
  },
})
