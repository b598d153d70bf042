import react from '@vitejs/plugin-react'
import { defineConfig } from 'vite'
import { checkBudget, packFiles } from './dev/build-checks.ts'

// `npm run dev` forwards requests of the API to a running server: `branchpoint serve --demo`.
const server = process.env.BRANCHPOINT_URL ?? 'http://127.0.0.1:8080'

export default defineConfig({
  // Relative: the server writes its base path into the document.
  base: './',
  html: { cspNonce: 'CSP_NONCE' },
  plugins: [react(), checkBudget(), packFiles()],
  server: {
    host: '127.0.0.1',
    port: 5180,
    proxy: { '/api': { target: server }, '/openapi.json': { target: server } },
  },
  worker: { format: 'es' },
  build: { outDir: 'dist/page', emptyOutDir: true, target: 'es2022', assetsInlineLimit: 0, chunkSizeWarningLimit: 1700, modulePreload: { polyfill: false } },
})
