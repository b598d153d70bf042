export function ChatPage() { return <main id="main" className="page-scroll" /> }
