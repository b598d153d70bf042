import { defineConfig } from 'vitest/config'

export default defineConfig({
  test: {
    root: import.meta.dirname,
    include: ['**/*.e2e.ts'],
    testTimeout: 90_000,
    hookTimeout: 60_000,
    pool: 'forks',
    // A browser and a server use two cores.
    maxWorkers: 1,
    // A test that needs another attempt has a defect, or has found one.
    retry: 0,
    reporters: ['default'],
  },
})
