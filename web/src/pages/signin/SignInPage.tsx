export function SignInPage() { return <main id="main" className="page-scroll" /> }
