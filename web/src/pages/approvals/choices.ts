import type { Choice } from '../../api/types.ts'

/** The key of each choice: `A` and `D` for the first yes and the first no, otherwise its number. */
export function choiceKeys(choices: Choice[]): Map<string, string> {
  const keys = new Map<string, string>()
  const yes = choices.find((choice) => choice.meaning === 'yes')
  const no = choices.find((choice) => choice.meaning === 'no')
  choices.forEach((choice, index) => {
    if (choice === yes) keys.set(choice.name, 'a')
    else if (choice === no) keys.set(choice.name, 'd')
    else if (index < 9) keys.set(choice.name, String(index + 1))
  })
  return keys
}

/** Choices are shown verbatim; the usual words get the capital letter of a button. */
export function choiceLabel(choice: Choice): string {
  return choice.meaning !== 'other' && /^[a-z]+$/.test(choice.name) ? choice.name.charAt(0).toUpperCase() + choice.name.slice(1) : choice.name
}

/** Only a yes is a primary button; with three or more choices none is. */
export function isPrimary(choice: Choice, choices: Choice[]): boolean {
  return choice.meaning === 'yes' && choices.length < 3 && choices.find((other) => other.meaning === 'yes') === choice
}
