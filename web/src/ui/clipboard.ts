import { showToast } from './toasts.tsx'

export async function copyText(text: string, what: string): Promise<void> {
  try {
    await navigator.clipboard.writeText(text)
    showToast({ text: `Copied ${what}.` })
  } catch {
    showToast({ text: `The browser does not allow copying. Select ${what} and copy it by hand.` })
  }
}

export function downloadText(name: string, text: string, type = 'text/plain'): void {
  const url = URL.createObjectURL(new Blob([text], { type }))
  const link = document.createElement('a')
  link.href = url
  link.download = name
  link.click()
  setTimeout(() => URL.revokeObjectURL(url), 1000)
}
