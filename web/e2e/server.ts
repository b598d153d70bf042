import { type ChildProcess, spawn, execFileSync } from 'node:child_process'
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

export interface ServerOptions {
  /** Examples of every dialect with scripted answers. Without it, the store is empty. */
  demo?: boolean
  /** Requests need a token or a sign-in link. */
  signIn?: boolean
  /** The path below which everything is served. */
  basePath?: string
  /** The text of `branchpoint.toml`, for people, groups, mail, models and permissions. */
  config?: string
  /** Further files of the server's folder, by name. */
  files?: Record<string, string>
  /** Further arguments of `branchpoint serve`. */
  arguments?: string[]
}

/** The built program: `BRANCHPOINT_BIN`, or the debug build of this repository. */
export function program(): string {
  const built = process.env.BRANCHPOINT_BIN ?? fileURLToPath(new URL('../../target/debug/branchpoint', import.meta.url))
  if (!existsSync(built)) throw new Error(`${built} does not exist. Build it: make web && cargo build -p branchpoint`)
  return built
}

/** The environment of a process, without the settings and keys of the person who runs the tests. */
function environment(user: string): NodeJS.ProcessEnv {
  const kept = Object.entries(process.env).filter(([name]) => !/^BRANCHPOINT_|_API_KEY$|_proxy$/i.test(name))
  return { ...Object.fromEntries(kept), BRANCHPOINT_USER: user, NO_COLOR: '1' }
}

/** A running `branchpoint serve` with a store in a folder of its own. */
export class Server {
  private process: ChildProcess | null = null
  private port = 0
  output = ''

  private constructor(private readonly options: ServerOptions, readonly folder: string) {}

  static async start(options: ServerOptions = {}): Promise<Server> {
    const server = new Server(options, mkdtempSync(join(tmpdir(), 'branchpoint-e2e-')))
    if (options.config !== undefined) writeFileSync(join(server.folder, 'branchpoint.toml'), options.config)
    for (const [name, content] of Object.entries(options.files ?? {})) writeFileSync(join(server.folder, name), content)
    await server.launch()
    return server
  }

  /** The address of the page's root, without a slash at its end. */
  get url(): string {
    return `http://127.0.0.1:${this.port}${this.options.basePath ?? ''}`
  }

  get store(): string {
    return join(this.folder, 'runs.db')
  }

  private async launch(): Promise<void> {
    const { demo, signIn, basePath } = this.options
    const words = ['serve', '--listen', `127.0.0.1:${this.port}`, ...(demo ? ['--demo'] : ['--store', this.store])]
    if (signIn) words.push('--require-sign-in')
    if (basePath) words.push('--base-path', basePath)
    const child = spawn(program(), [...words, ...(this.options.arguments ?? [])], { cwd: this.folder, env: environment('ada'), stdio: ['ignore', 'ignore', 'pipe'] })
    this.process = child
    this.port = await new Promise<number>((resolve, reject) => {
      child.stderr.setEncoding('utf8').on('data', (text: string) => {
        this.output += text
        const found = /Serving http:\/\/127\.0\.0\.1:(\d+)/.exec(this.output)
        if (found) resolve(Number(found[1]))
      })
      child.on('exit', (code) => reject(new Error(`the server has ended with ${code}: ${this.output}`)))
    })
    this.output = ''
  }

  /** Ends the process as a crash does: nothing is released or finished. */
  async kill(): Promise<void> {
    await this.end('SIGKILL')
  }

  /** Starts the program again over the same store and on the same port. A demo's store does not survive. */
  async restart(): Promise<void> {
    await this.end('SIGKILL')
    await this.launch()
  }

  async stop(): Promise<void> {
    await this.end('SIGTERM')
    rmSync(this.folder, { recursive: true, force: true })
  }

  private async end(signal: NodeJS.Signals): Promise<void> {
    const child = this.process
    this.process = null
    if (child === null || child.exitCode !== null || child.signalCode !== null) return
    await new Promise((resolve) => {
      child.removeAllListeners('exit').on('exit', resolve)
      child.kill(signal)
    })
  }

  /** Runs a command of the program in the server's folder, as somebody, and returns what it prints. */
  run(words: string[], user = 'ada'): string {
    return execFileSync(program(), words, { cwd: this.folder, env: environment(user), encoding: 'utf8' })
  }

  /** Sends a request to the API and returns its JSON. A failed request is an error. */
  async api<T = unknown>(method: string, path: string, body?: unknown, headers: Record<string, string> = {}): Promise<T> {
    const response = await fetch(`${this.url}/api/v1${path}`, {
      method,
      headers: { 'x-branchpoint': '1', ...(body === undefined ? {} : { 'content-type': 'application/json' }), ...headers },
      body: body === undefined ? undefined : JSON.stringify(body),
    })
    const text = await response.text()
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text}`)
    return (text === '' ? null : JSON.parse(text)) as T
  }

  /** Saves a workflow. */
  save(name: string, text: string): Promise<{ version: number }> {
    return this.api('POST', '/workflows', { name, text })
  }

  /** Starts a run. Its script, as YAML, answers its calls. */
  start(workflow: string, options: { inputs?: Record<string, unknown>; script?: string; id?: string } = {}): Promise<{ id: string; status: string }> {
    return this.api('POST', '/runs', { workflow, inputs: options.inputs ?? {}, ...(options.script ? { script: options.script } : {}), ...(options.id ? { id: options.id } : {}) })
  }
}
