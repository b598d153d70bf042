export function DocsPage() { return <main id="main" className="page-scroll" /> }
