export function SessionsPage() { return <main id="main" className="page-scroll" /> }
