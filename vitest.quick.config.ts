import { configDefaults, defineConfig, mergeConfig } from 'vitest/config'
import { slowFiles } from './test/slow-files.ts'
import everything from './vitest.config.ts'

// A tenth of the time of the quick tests would go to random failures of a cluster.
process.env['PAGECACHE_MODEL_RUNS'] ??= '60'

/** What needs no browser, Varnish or crash loop. */
export default mergeConfig(
  everything,
  defineConfig({ test: { exclude: [...configDefaults.exclude, 'test/e2e/**', ...slowFiles] } }),
)
