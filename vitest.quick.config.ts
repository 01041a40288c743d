import { configDefaults, defineConfig, mergeConfig } from 'vitest/config'
import { slowFiles } from './test/slow-files.ts'
import everything from './vitest.config.ts'

// Otherwise the random failures of a simulated cluster (test/cluster/model.test.ts) would take a tenth of the time.
process.env['PAGECACHE_MODEL_RUNS'] ??= '60'

/** The tests that need no browser, Varnish or crash loop. */
export default mergeConfig(
  everything,
  defineConfig({ test: { exclude: [...configDefaults.exclude, 'test/e2e/**', ...slowFiles] } }),
)
