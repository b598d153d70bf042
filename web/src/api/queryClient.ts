import { QueryClient } from '@tanstack/react-query'
import { Problem } from './client.ts'

/** The cache of all queries of this tab. Live events keep it up to date. */
export const queryClient = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: 15_000,
      refetchOnWindowFocus: false,
      retry: (count, error) => error instanceof Problem && (error.status === 0 || error.status >= 500) && count < 1,
    },
    mutations: { retry: false },
  },
})
