import { configDefaults, defineConfig, mergeConfig } from 'vitest/config'
import { slowFiles } from './test/slow-files.ts'
import everything from './vitest.config.ts'

/** What needs no browser, Varnish or crash loop. */
export default mergeConfig(
  everything,
  defineConfig({ test: { exclude: [...configDefaults.exclude, 'test/e2e/**', ...slowFiles] } }),
)
