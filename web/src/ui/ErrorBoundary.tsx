import { Component, type ReactNode } from 'react'

/** Shows a replacement for a part of the page that failed to render. The rest stays usable. */
export class ErrorBoundary extends Component<{ fallback: (error: unknown, retry: () => void) => ReactNode; children: ReactNode }, { error: unknown }> {
  override state = { error: null as unknown }

  static getDerivedStateFromError(error: unknown) {
    return { error }
  }

  override render() {
    if (this.state.error === null) return this.props.children
    return this.props.fallback(this.state.error, () => this.setState({ error: null }))
  }
}
