import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, renameSync } from 'node:fs'
import { createServer } from 'node:net'
import type { AddressInfo } from 'node:net'
import { fileURLToPath } from 'node:url'

const PACKAGE = 'oidc-provider-mock==0.3.4'

/** An OpenID Connect provider, the Python package `oidc-provider-mock`, with the users `ada` (an engineer) and `eve` (a guest). */
export class SignInProvider {
  private constructor(private readonly process: ChildProcess, readonly url: string) {}

  /** `null` if the package cannot be installed. That is a failure in CI. */
  static async start(): Promise<SignInProvider | null> {
    let python: string
    try {
      python = installed()
    } catch (error) {
      if (process.env.CI === 'true') throw error
      console.error(`skipped, because ${PACKAGE} cannot be installed here: ${String(error)}`)
      return null
    }
    const url = `http://127.0.0.1:${await freePort()}`
    const user = (name: string, group: string) => ['--user-claims', JSON.stringify({ sub: name, email: `${name}@example.com`, email_verified: true, groups: [group] })]
    const words = ['-m', 'oidc_provider_mock', '--port', new URL(url).port, '--require-nonce', 'true', ...user('ada', 'engineers'), ...user('eve', 'guests')]
    const provider = new SignInProvider(spawn(python, words, { stdio: 'ignore' }), url)
    await provider.answers()
    return provider
  }

  /** Settings that make this the provider of a server. Engineers are editors; guests have no role. */
  get config(): string {
    return `[oidc]\nissuer = "${this.url}"\nclient_id = "branchpoint"\nname = "Example"\nclient_secret_env = "OIDC_SECRET"\n\n[[oidc.roles]]\ngroup = "engineers"\nrole = "editor"\n\n[secrets]\nfile = "secrets.env"\n`
  }

  private async answers(): Promise<void> {
    for (;;) {
      if (this.process.exitCode !== null) throw new Error(`the provider has ended with ${this.process.exitCode}`)
      const response = await fetch(`${this.url}/.well-known/openid-configuration`).catch(() => null)
      if (response?.ok) return
      await new Promise((resolve) => setTimeout(resolve, 50))
    }
  }

  async stop(): Promise<void> {
    if (this.process.exitCode !== null || this.process.signalCode !== null) return
    await new Promise((resolve) => {
      this.process.on('exit', resolve)
      this.process.kill()
    })
  }
}

/** Installs the package once, and returns its Python. */
function installed(): string {
  const cache = fileURLToPath(new URL('../node_modules/.cache', import.meta.url))
  const folder = `${cache}/${PACKAGE}`
  if (existsSync(folder)) return `${folder}/bin/python`
  mkdirSync(cache, { recursive: true })
  // An incomplete installation must not be used.
  const aside = mkdtempSync(`${cache}/installing-`)
  const options = { stdio: 'pipe', timeout: 180_000 } as const
  execFileSync('python3', ['-m', 'venv', aside], options)
  execFileSync(`${aside}/bin/python`, ['-m', 'pip', 'install', '--quiet', PACKAGE], options)
  renameSync(aside, folder)
  return `${folder}/bin/python`
}

function freePort(): Promise<number> {
  return new Promise((resolve) => {
    const server = createServer().listen(0, '127.0.0.1', () => {
      const { port } = server.address() as AddressInfo
      server.close(() => resolve(port))
    })
  })
}
