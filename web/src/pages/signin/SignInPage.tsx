import { useMutation, useQuery } from '@tanstack/react-query'
import { Link, useSearch } from '@tanstack/react-router'
import { LogIn } from 'lucide-react'
import { type FormEvent, useEffect, useState } from 'react'
import { BASE_PATH } from '../../api/base.ts'
import { API, get, post, Problem } from '../../api/client.ts'
import type { SignInMethods } from '../../api/schema.d.ts'
import { Button } from '../../ui/Button.tsx'
import { Logo } from '../../ui/icons.tsx'
import { useTitle } from '../../ui/title.ts'
import { forgetProblem, readProblem } from './providerProblem.ts'
import { returnPath } from './returnPath.ts'

/** Sign in with a token, with the organisation's provider, or with a one-time link. */
export function SignInPage() {
  useTitle('Sign in')
  const search = useSearch({ from: '/signin' })
  const to = returnPath(search.to)
  const [problem] = useState(readProblem)
  useEffect(forgetProblem, [])
  const options = useQuery({ queryKey: ['sign-in'], queryFn: ({ signal }) => get<SignInMethods>('/sign-in', signal), retry: false }).data
  return (
    <main id="main" className="signin">
      <section className="card signin-card">
        <div className="brand"><Logo size={24} /><span>Branchpoint</span></div>
        {problem !== null && <p className="sev-error small" role="alert">{problem}</p>}
        {search.code ? <WithLink code={search.code} to={to} /> : <WithToken to={to} />}
        {!search.code && options?.oidc && (
          <>
            <p className="signin-or"><span>or</span></p>
            <a className="btn btn-big" href={`${API}/sign-in/oidc?to=${encodeURIComponent(to)}`}>Sign in with {options.oidc.name}</a>
          </>
        )}
        <p className="muted small signin-help">
          An administrator creates a token with <code>branchpoint token create</code>, or a one-time link with <code>branchpoint token link</code>.
        </p>
      </section>
    </main>
  )
}

function useSignIn(to: string) {
  return useMutation({
    mutationFn: (credential: { token: string } | { code: string }) => post('/sign-in', credential),
    // A whole page load: nothing of the previous user stays in memory.
    onSuccess: () => location.assign(BASE_PATH + to),
  })
}

function WithToken({ to }: { to: string }) {
  const [token, setToken] = useState('')
  const signIn = useSignIn(to)
  const submit = (event: FormEvent) => {
    event.preventDefault()
    if (token.trim() !== '') signIn.mutate({ token: token.trim() })
  }
  return (
    <form onSubmit={submit}>
      <h1>Sign in</h1>
      <label className="fld">
        Token
        <span className={`input${signIn.isError ? ' bad' : ''}`}>
          <input
            autoFocus type="password" name="token" autoComplete="current-password" spellCheck={false} value={token} aria-invalid={signIn.isError || undefined}
            aria-describedby={signIn.isError ? 'signin-error' : undefined} onChange={(event) => setToken(event.target.value)}
          />
        </span>
      </label>
      <SignInError error={signIn.error} what="token" />
      <Button type="submit" look="primary" big icon={LogIn} disabled={token.trim() === '' || signIn.isPending}>Sign in</Button>
    </form>
  )
}

/** Opening a link does not sign in, because mail clients and chats open links, too. */
function WithLink({ code, to }: { code: string; to: string }) {
  const signIn = useSignIn(to)
  return (
    <div>
      <h1>Sign in</h1>
      <p className="soft signin-text">This link signs this browser in once, for 12 hours.</p>
      <SignInError error={signIn.error} what="link" />
      <Button look="primary" big icon={LogIn} disabled={signIn.isPending} onClick={() => signIn.mutate({ code })}>Sign in to Branchpoint</Button>
      {signIn.isError && <p className="small"><Link className="link" to="/signin" search={{ to }}>Use a token instead</Link></p>}
    </div>
  )
}

function SignInError({ error, what }: { error: Error | null; what: 'token' | 'link' }) {
  if (!error) return null
  const isRejected = error instanceof Problem && error.status === 401
  const text = isRejected ? (what === 'token' ? 'The token is unknown, expired or revoked. Check it, or create a new one.' : 'The link is unknown, used or expired. Create a new one.') : error.message
  return <p id="signin-error" className="sev-error small" role="alert">{text}</p>
}
