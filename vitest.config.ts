import { relative } from 'node:path'
import { defineConfig } from 'vitest/config'
import { BaseSequencer, type TestSpecification } from 'vitest/node'
import { kyselyInOneFile } from './test/kysely-in-one-file.ts'
import { onBothDatabases, onlyPostgres } from './test/on-both-databases.ts'
import { longFiles, slowFiles } from './test/slow-files.ts'

/** Starts the slowest files first: one that starts last would keep the others waiting. */
class SlowestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const order = [...slowFiles, ...longFiles]
    const rank = ({ moduleId }: TestSpecification) => {
      const place = order.indexOf(relative(import.meta.dirname, moduleId))
      return place < 0 ? order.length : place
    }
    return files.toSorted((a, b) => rank(a) - rank(b))
  }
}

/** Files with a process of their own. The others share four: each imports the modules that they have in common once, which takes a third of the CPU time of short files. */
const alone = ['test/e2e/**/*.test.ts', ...slowFiles, 'test/lib/steady-heap.test.ts']

// Node keeps the code that it compiles and the TypeScript that it strips: the programs that tests start are up in half the time.
process.env['NODE_COMPILE_CACHE'] ??= `${import.meta.dirname}/node_modules/.cache/compiled`

// The daemons of tests are not restarted for large pages, which takes a fifth of the time of their start. Their heaps are as usual.
process.env['PAGECACHE_TEST_NODE_OPTIONS'] ??= '--use-largepages=off --min-semi-space-size=12'

// Tests must not empty a developer's database.
delete process.env['PAGECACHE_RECORDS_URL']

export default defineConfig({
  test: {
    execArgv: await kyselyInOneFile(import.meta.dirname),
    // Most files wait for programs of their own: one worker for each core would leave the machine half idle.
    maxWorkers: 4,
    // Those that are concurrent wait for time-outs of the daemon.
    maxConcurrency: 20,
    sequence: { sequencer: SlowestFirst },
    // Node runs TypeScript itself. Its own modules are faster than Vite's, and need no transformation.
    experimental: { viteModuleRunner: false, nodeLoader: false },
    projects: [
      {
        extends: true,
        test: {
          name: 'sqlite',
          include: ['test/**/*.test.ts'],
          exclude: [...alone, ...onlyPostgres],
          isolate: false,
        },
      },
      { extends: true, test: { name: 'sqlite-alone', include: alone, exclude: onlyPostgres } },
      {
        extends: true,
        // Node does not run JSX.
        test: {
          name: 'jsx',
          include: ['test/**/*.test.tsx'],
          isolate: false,
          experimental: { viteModuleRunner: true },
        },
      },
      {
        extends: true,
        test: {
          name: 'postgres',
          isolate: false,
          include: [...onBothDatabases, ...onlyPostgres],
          globalSetup: './test/helpers/postgres-project.ts',
          setupFiles: ['./test/helpers/postgres-setup.ts'],
        },
      },
    ],
    // oclif's captureOutput replaces the same stream methods; with both, a test sees half of the output.
    disableConsoleIntercept: true,
    // No test asserts how long something takes: these limits only end what hangs, on a slow machine too.
    testTimeout: 300_000,
    hookTimeout: 300_000,
  },
})
