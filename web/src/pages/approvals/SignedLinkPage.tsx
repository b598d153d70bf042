export function SignedLinkPage() { return <main id="main" className="page-scroll" /> }
