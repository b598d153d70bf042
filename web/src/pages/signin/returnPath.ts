/** Where to go after signing in: a path of this site, never another one. */
export function returnPath(to: string | undefined): string {
  if (to === undefined || !to.startsWith('/')) return '/'
  const url = new URL(to, 'http://site.invalid')
  if (url.host !== 'site.invalid' || url.pathname === '/signin') return '/'
  return url.pathname + url.search + url.hash
}
