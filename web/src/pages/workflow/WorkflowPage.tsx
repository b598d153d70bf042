export function DesignTab() { return <main id="main" /> }
export function RunsTab() { return <main id="main" /> }
export function VersionsTab() { return <main id="main" /> }
