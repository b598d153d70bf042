export function PlaygroundPage() { return <main id="main" className="page-scroll" /> }
