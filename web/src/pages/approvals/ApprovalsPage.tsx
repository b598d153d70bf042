export function ApprovalsPage() { return <main id="main" className="page-scroll" /> }
