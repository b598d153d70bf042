import { Problem } from '../api/client.ts'
import { showToast } from './toasts.tsx'

/** Reports an action that the server rejected, where the page has no place of its own for it. */
export function showProblem(error: unknown): void {
  showToast({ text: error instanceof Problem ? error.detail || error.title : String(error) })
}
