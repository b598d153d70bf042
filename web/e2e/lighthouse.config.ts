import { defineConfig } from 'vitest/config'

export default defineConfig({ test: { root: import.meta.dirname, include: ['lighthouse.ts'], testTimeout: 1_800_000, hookTimeout: 60_000, pool: 'forks', reporters: ['default'] } })
