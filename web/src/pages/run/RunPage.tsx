export function RunPage() { return <main id="main" className="page-scroll" /> }
