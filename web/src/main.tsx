import './tokens.css'
import './styles/index.css'
import { CSPProvider } from '@base-ui/react/csp-provider'
import { QueryClientProvider } from '@tanstack/react-query'
import { RouterProvider } from '@tanstack/react-router'
import { StrictMode } from 'react'
import { createRoot } from 'react-dom/client'
import { STYLE_NONCE } from './api/base.ts'
import { Problem } from './api/client.ts'
import { queryClient } from './api/queryClient.ts'
import { router } from './app/router.tsx'
import { onLiveEvents, onSignedOut } from './live/connect.ts'
import { watchMissingParts } from './live/outdated.ts'
import { applyEvents } from './live/patch.ts'
import { handleShortcut } from './ui/shortcuts.ts'

queryClient.getQueryCache().subscribe((event) => {
  const error = event.type === 'updated' && event.action.type === 'error' ? event.action.error : null
  if (error instanceof Problem && error.status === 401) goToSignIn()
})

function goToSignIn(): void {
  const { pathname, href } = router.state.location
  if (/^\/(signin|a\/)/.test(pathname)) return
  void router.navigate({ to: '/signin', search: { to: href }, replace: true })
}

onSignedOut(goToSignIn)
watchMissingParts()
onLiveEvents((events) => applyEvents(queryClient, events))
window.addEventListener('keydown', handleShortcut)

const container = document.getElementById('root')
if (container) {
  createRoot(container).render(
    <StrictMode>
      <CSPProvider nonce={STYLE_NONCE}>
        <QueryClientProvider client={queryClient}>
          <RouterProvider router={router} />
        </QueryClientProvider>
      </CSPProvider>
    </StrictMode>,
  )
}
