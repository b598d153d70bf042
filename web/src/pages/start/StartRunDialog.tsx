export default function StartRunDialog(_: { workflow: string }) { return null }
