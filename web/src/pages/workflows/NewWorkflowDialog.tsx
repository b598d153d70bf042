export default function NewWorkflowDialog(_: { how: string; onClose: () => void }) { return null }
