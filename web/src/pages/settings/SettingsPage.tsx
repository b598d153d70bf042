export function SettingsPage() { return <main id="main" className="page-scroll" /> }
