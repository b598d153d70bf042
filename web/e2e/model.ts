import { createServer, type Server as HttpServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

interface Reply {
  text: string
  tools?: { name: string; arguments: Record<string, unknown> }[]
}

/** A model provider with an OpenAI-compatible address, which streams its replies word by word and can be held in the middle of one. */
export class ModelServer {
  readonly requests: { messages: unknown[]; tools?: unknown[] }[] = []
  private replies: Reply[] = []
  private isHeld = false
  private waiting: (() => void)[] = []

  private constructor(private readonly server: HttpServer) {}

  static async start(): Promise<ModelServer> {
    const server = createServer()
    const model = new ModelServer(server)
    server.on('request', (request, response) => {
      let body = ''
      request.on('data', (chunk: Buffer) => (body += chunk.toString())).on('end', () => {
        model.requests.push(JSON.parse(body))
        void model.answer(response)
      })
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    return model
  }

  /** Settings that make this the provider of models whose node is `llm.openai`. */
  get config(): string {
    const { port } = this.server.address() as AddressInfo
    return `[models]\ndefault = "openai/test"\n\n[models.providers.openai]\nbase_url = "http://127.0.0.1:${port}/v1"\nkey_env = ""\n`
  }

  /** The next reply of the model. */
  reply(text: string, tools: Reply['tools'] = []): void {
    this.replies.push({ text, tools })
  }

  /** Stops replies after their first half until `release`. */
  hold(): void {
    this.isHeld = true
  }

  release(): void {
    this.isHeld = false
    for (const go of this.waiting.splice(0)) go()
  }

  private async answer(response: ServerResponse): Promise<void> {
    const reply = this.replies.shift() ?? { text: 'No reply was prepared.' }
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    const send = (delta: unknown, finish: string | null = null) => response.write(`data: ${JSON.stringify({ choices: [{ index: 0, delta, finish_reason: finish }] })}\n\n`)
    const words = reply.text === '' ? [] : reply.text.split(/(?<= )/)
    for (const [index, word] of words.entries()) {
      if (this.isHeld && index >= words.length / 2) await new Promise<void>((resolve) => this.waiting.push(resolve))
      send({ content: word })
    }
    const calls = (reply.tools ?? []).map((call, index) => ({ index, id: `call-${index}`, type: 'function', function: { name: call.name, arguments: JSON.stringify(call.arguments) } }))
    if (calls.length > 0) send({ tool_calls: calls })
    send({}, calls.length > 0 ? 'tool_calls' : 'stop')
    response.write(`data: ${JSON.stringify({ choices: [], usage: { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 } })}\n\ndata: [DONE]\n\n`)
    response.end()
  }

  async stop(): Promise<void> {
    this.release()
    this.server.closeAllConnections()
    await new Promise((resolve) => this.server.close(resolve))
  }
}
