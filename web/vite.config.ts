import react from '@vitejs/plugin-react'
import { defineConfig } from 'vite'
import { checkBudget, packFiles } from './dev/build-checks.ts'
import { mockApi } from './dev/mock.ts'

// `npm run dev` answers the API from fixtures; with BRANCHPOINT_URL it forwards to a running server instead.
const server = process.env.BRANCHPOINT_URL

export default defineConfig({
  // Relative: the server writes its base path into the document.
  base: './',
  html: { cspNonce: 'CSP_NONCE' },
  plugins: [react(), checkBudget(), packFiles(), ...(server ? [] : [mockApi()])],
  server: {
    host: '127.0.0.1',
    port: 5180,
    proxy: server ? { '/api': { target: server }, '/openapi.json': { target: server } } : {},
  },
  worker: { format: 'es' },
  build: { outDir: 'dist/page', emptyOutDir: true, target: 'es2022', assetsInlineLimit: 0, chunkSizeWarningLimit: 1700, modulePreload: { polyfill: false } },
})
