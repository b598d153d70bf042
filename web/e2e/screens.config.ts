import { defineConfig } from 'vitest/config'

export default defineConfig({
  test: { root: import.meta.dirname, include: ['screens.ts'], testTimeout: 600_000, hookTimeout: 60_000, pool: 'forks', maxWorkers: 1 },
})
