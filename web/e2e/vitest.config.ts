import { defineConfig } from 'vitest/config'

export default defineConfig({
  test: {
    root: import.meta.dirname,
    include: ['**/*.e2e.ts'],
    testTimeout: 90_000,
    hookTimeout: 60_000,
    pool: 'forks',
    // A browser and a server use two cores. Tests wait for what a person sees, and a loaded machine may need another attempt.
    maxWorkers: 1,
    retry: 3,
    reporters: ['default'],
  },
})
