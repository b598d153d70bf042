import type { QueryClient } from '@tanstack/react-query'
import { createRootRouteWithContext, createRoute, createRouter, lazyRouteComponent, redirect } from '@tanstack/react-router'
import { BASE_PATH } from '../api/base.ts'
import { queryClient } from '../api/queryClient.ts'
import { runDrawingQuery, runQuery } from '../api/queries.ts'
import { OverviewPage } from '../pages/overview/OverviewPage.tsx'
import { ROOT } from '../pages/run/refs.ts'
import { traceStore } from '../pages/run/traceStore.ts'
import { App } from './App.tsx'
import { NotFound, RouteError } from './NotFound.tsx'

/** Keeps the named parameters of an address, as text. */
function parameters<K extends string>(...names: K[]) {
  return (search: Record<string, unknown>): Partial<Record<K, string>> => {
    const kept: Partial<Record<K, string>> = {}
    for (const name of names) {
      const value = search[name]
      if (typeof value === 'string' && value !== '') kept[name] = value
    }
    return kept
  }
}

const root = createRootRouteWithContext<{ client: QueryClient }>()({ component: App, notFoundComponent: () => <NotFound />, errorComponent: RouteError })

const overview = createRoute({ getParentRoute: () => root, path: '/', component: OverviewPage })

const workflows = createRoute({
  getParentRoute: () => root,
  path: '/workflows',
  validateSearch: parameters('q', 'dialect', 'sort', 'new'),
  component: lazyRouteComponent(() => import('../pages/workflows/WorkflowsPage.tsx'), 'WorkflowsPage'),
})

const workflow = createRoute({
  getParentRoute: () => root,
  path: '/workflows/$name',
  validateSearch: parameters('v', 'pane', 'step', 'line', 'from', 'to', 'as', 'run'),
  component: lazyRouteComponent(() => import('../pages/workflow/WorkflowPage.tsx'), 'DesignTab'),
})

const workflowRuns = createRoute({
  getParentRoute: () => root,
  path: '/workflows/$name/runs',
  validateSearch: parameters('status', 'since', 'q', 'v', 'run'),
  component: lazyRouteComponent(() => import('../pages/workflow/WorkflowPage.tsx'), 'RunsTab'),
})

const workflowVersions = createRoute({
  getParentRoute: () => root,
  path: '/workflows/$name/versions',
  validateSearch: parameters('from', 'to', 'as', 'v', 'run'),
  component: lazyRouteComponent(() => import('../pages/workflow/WorkflowPage.tsx'), 'VersionsTab'),
})

const runs = createRoute({
  getParentRoute: () => root,
  path: '/runs',
  validateSearch: parameters('q', 'status', 'workflow', 'since'),
  component: lazyRouteComponent(() => import('../pages/runs/RunsPage.tsx'), 'RunsPage'),
})

const run = createRoute({
  getParentRoute: () => root,
  path: '/runs/$id',
  validateSearch: parameters('view', 'step', 'execution', 'tab', 'show', 'q', 'seen'),
  // The run, its first steps and its drawing are requested while the page itself is still loading.
  loader: ({ params: { id }, context: { client }, cause }) => {
    if (cause !== 'enter') return
    void client.prefetchQuery(runQuery(id))
    void client.prefetchQuery(runDrawingQuery(id))
    void traceStore(id).open(ROOT)
  },
  component: lazyRouteComponent(() => import('../pages/run/RunPage.tsx'), 'RunPage'),
})

const approvals = createRoute({
  getParentRoute: () => root,
  path: '/approvals',
  validateSearch: parameters('show'),
  component: lazyRouteComponent(() => import('../pages/approvals/ApprovalsPage.tsx'), 'ApprovalsPage'),
})

const approval = createRoute({
  getParentRoute: () => root,
  path: '/approvals/$run/$n',
  validateSearch: parameters('show'),
  component: lazyRouteComponent(() => import('../pages/approvals/ApprovalsPage.tsx'), 'ApprovalsPage'),
})

const signedLink = createRoute({
  getParentRoute: () => root,
  path: '/a/$signed',
  component: lazyRouteComponent(() => import('../pages/approvals/SignedLinkPage.tsx'), 'SignedLinkPage'),
})

const sessions = createRoute({
  getParentRoute: () => root,
  path: '/sessions',
  component: lazyRouteComponent(() => import('../pages/sessions/SessionsPage.tsx'), 'SessionsPage'),
})

const session = createRoute({
  getParentRoute: () => root,
  path: '/sessions/$document/$id',
  validateSearch: parameters('at'),
  component: lazyRouteComponent(() => import('../pages/sessions/SessionsPage.tsx'), 'SessionsPage'),
})

const chat = createRoute({
  getParentRoute: () => root,
  path: '/chat/$document/$id',
  component: lazyRouteComponent(() => import('../pages/chat/ChatPage.tsx'), 'ChatPage'),
})

const playground = createRoute({
  getParentRoute: () => root,
  path: '/playground',
  component: lazyRouteComponent(() => import('../pages/playground/PlaygroundPage.tsx'), 'PlaygroundPage'),
})

const settingsHome = createRoute({
  getParentRoute: () => root,
  path: '/settings',
  beforeLoad: () => {
    throw redirect({ to: '/settings/$section', params: { section: 'people' } })
  },
})

const settings = createRoute({
  getParentRoute: () => root,
  path: '/settings/$section',
  component: lazyRouteComponent(() => import('../pages/settings/SettingsPage.tsx'), 'SettingsPage'),
})

const signIn = createRoute({
  getParentRoute: () => root,
  path: '/signin',
  validateSearch: parameters('to', 'code'),
  component: lazyRouteComponent(() => import('../pages/signin/SignInPage.tsx'), 'SignInPage'),
})

const docs = createRoute({
  getParentRoute: () => root,
  path: '/docs/$kind',
  component: lazyRouteComponent(() => import('../pages/docs/DocsPage.tsx'), 'DocsPage'),
})

export const router = createRouter({
  routeTree: root.addChildren([
    overview, workflows, workflow, workflowRuns, workflowVersions, runs, run, approvals, approval, signedLink, sessions, session, chat, playground,
    settingsHome, settings, signIn, docs,
  ]),
  basepath: BASE_PATH || '/',
  context: { client: queryClient },
  defaultPreload: 'intent',
  scrollRestoration: true,
  // Every parameter is text: the default would turn `q=42` into a number.
  parseSearch: (search) => Object.fromEntries(new URLSearchParams(search)),
  stringifySearch: (search) => {
    const parameters = new URLSearchParams()
    for (const [name, value] of Object.entries(search)) if (typeof value === 'string' && value !== '') parameters.set(name, value)
    const encoded = parameters.toString()
    return encoded === '' ? '' : `?${encoded}`
  },
})

declare module '@tanstack/react-router' {
  interface Register {
    router: typeof router
  }
}
