import { post, Problem } from '../../api/client.ts'

let isKnown = true

/** Requests a drawing whose nodes have the fields of their steps. Servers of earlier builds reject that parameter and draw without fields. */
export async function postWithFields<T>(path: string, body: Record<string, unknown>): Promise<T> {
  if (!isKnown) return post<T>(path, body)
  try {
    return await post<T>(path, { ...body, with_fields: true })
  } catch (error) {
    if (!(error instanceof Problem) || !error.detail.includes('unknown field `with_fields`')) throw error
    isKnown = false
    return post<T>(path, body)
  }
}
