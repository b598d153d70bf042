import { BASE_PATH } from '../../api/base.ts'

const COOKIE = 'branchpoint-sign-in-problem'

/** Why the sign-in at the provider failed. The server leaves the message in a cookie, which no link can set. */
export function readProblem(): string | null {
  const value = document.cookie.split('; ').find((cookie) => cookie.startsWith(`${COOKIE}=`))?.slice(COOKIE.length + 1)
  if (!value) return null
  try {
    return decodeURIComponent(value)
  } catch {
    return null
  }
}

/** The message is shown once. */
export function forgetProblem(): void {
  document.cookie = `${COOKIE}=; Path=${BASE_PATH}/; SameSite=Lax; Max-Age=0`
}
