import { gzipSync } from 'node:zlib'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Plugin } from 'vite'

/** The most bytes of scripts and styles that a first visit loads, compressed, without fonts. */
const FIRST_LOAD_BYTES = 180 * 1024

/** Packages that must not be part of the first load. */
const LAZY = ['@codemirror/', '@xyflow/', 'markdown-it', '@lezer/']
/** Files that only a worker may contain. The API of elkjs is small and talks to its worker, whose address ends with `?url`. */
const WORKER_ONLY = /elkjs\/lib\/(?!elk-api)[^?]*$/

interface Chunk {
  type: 'chunk' | 'asset'
  fileName: string
  code?: string
  source?: string | Uint8Array
  imports?: string[]
  isEntry?: boolean
  modules?: Record<string, unknown>
  viteMetadata?: { importedCss: Set<string> }
}

/** Fails the build when the first load exceeds its budget or contains what must be loaded later. */
export function checkBudget(): Plugin {
  return {
    name: 'check-budget',
    apply: 'build',
    enforce: 'post',
    generateBundle(_, bundle) {
      const files = bundle as unknown as Record<string, Chunk>
      const first = firstLoad(files)
      const bytes = [...first].reduce((sum, name) => sum + packedSize(files[name]), 0)
      const kilobytes = (bytes / 1024).toFixed(1)
      for (const name of first) {
        const modules = Object.keys(files[name]?.modules ?? {})
        const early = modules.find((module) => LAZY.some((name) => module.includes(`node_modules/${name}`)))
        if (early) this.error(`${early} is part of the first load. Import it with import().`)
      }
      for (const chunk of Object.values(files)) {
        const outside = Object.keys(chunk.modules ?? {}).find((module) => WORKER_ONLY.test(module))
        if (outside) this.error(`${outside} is imported outside of its worker.`)
      }
      if (bytes > FIRST_LOAD_BYTES) this.error(`The first load is ${kilobytes} KB compressed. The budget is ${FIRST_LOAD_BYTES / 1024} KB.`)
      this.info(`First load: ${kilobytes} KB compressed, without fonts (budget: ${FIRST_LOAD_BYTES / 1024} KB).`)
    },
  }
}

/** The scripts and styles that the document loads, with everything that they import statically. */
function firstLoad(files: Record<string, Chunk>): Set<string> {
  const names = new Set<string>()
  const visit = (name: string) => {
    const chunk = files[name]
    if (!chunk || names.has(name)) return
    names.add(name)
    for (const css of chunk.viteMetadata?.importedCss ?? []) names.add(css)
    for (const imported of chunk.imports ?? []) visit(imported)
  }
  for (const chunk of Object.values(files)) if (chunk.isEntry) visit(chunk.fileName)
  return names
}

function packedSize(file: Chunk | undefined): number {
  const content = file?.code ?? file?.source ?? ''
  return gzipSync(content).length
}

const PACKED = /\.(css|js|json|svg|html)$/

/** Writes a compressed copy beside every text file, which the program embeds and serves as it is. */
export function packFiles(): Plugin {
  let folder = ''
  return {
    name: 'pack-files',
    apply: 'build',
    configResolved(config) {
      folder = join(config.root, config.build.outDir)
    },
    closeBundle() {
      for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
        const path = join(entry.parentPath, entry.name)
        if (entry.isFile() && PACKED.test(entry.name)) writeFileSync(`${path}.gz`, gzipSync(readFileSync(path), { level: 9 }))
      }
    },
  }
}
