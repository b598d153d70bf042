declare module 'elkjs/lib/elk-worker.min.js' {
  /** ELK without a thread of its own: it answers messages like a worker. */
  class Engine {
    onmessage: ((event: { data: { id: number; data?: import('elkjs/lib/elk-api').ElkNode; error?: unknown } }) => void) | null
    postMessage(message: unknown): void
  }
  const elk: { Worker: typeof Engine }
  export default elk
}
