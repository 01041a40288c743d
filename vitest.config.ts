import { defineConfig } from 'vitest/config'

export default defineConfig({
  test: {
    // Most of them wait for programs of their own: one file at a time would leave the machine idle.
    maxWorkers: 2,
    include: ['test/**/*.test.{ts,tsx}'],
    // oclif's captureOutput replaces the same stream methods; with both, a test sees half of the output.
    disableConsoleIntercept: true,
    // Slow machines exist, and no test asserts how long something takes: this only ends what hangs.
    testTimeout: 30_000,
    hookTimeout: 60_000,
    expect: { poll: { timeout: 25_000 } },
  },
})
