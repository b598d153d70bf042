import type { Look, Visitor } from './browser.ts'
import type { Server } from './server.ts'

/** Three approvers, one of them an admin, and two groups. */
export const PEOPLE = `
user = "ada"

[people]
owner = "ada"
admins = ["bob"]
members = ["eve"]

[groups]
finance = ["bob", "cid", "ada"]
legal = ["eve"]
`

type Visit = (server: Server, look?: Look) => Promise<Visitor>

/** Opens a browser in which a person has signed in with a one-time link. */
export async function visitAs(visit: Visit, server: Server, user: string, role = 'editor', look: Look = {}): Promise<Visitor> {
  const visitor = await visit(server, look)
  const link = oneTimeLink(server, user, role)
  const response = await visitor.context.request.post(`${server.url}/sign-in`, { form: { code: link.searchParams.get('code') ?? '' }, maxRedirects: 0 })
  if (response.status() !== 303) throw new Error(`signing in as ${user}: ${response.status()} ${await response.text()}`)
  return visitor
}

export function oneTimeLink(server: Server, user: string, role: string): URL {
  const printed = server.run(['token', 'link', '--store', server.store, '--user', user, '--role', role, '--url', server.url])
  return new URL(/https?:\S+/.exec(printed)?.[0] ?? '')
}

export function token(server: Server, user: string, role: string): string {
  const printed = server.run(['token', 'create', '--store', server.store, '--user', user, '--role', role, '--json'])
  return (JSON.parse(printed) as { token: string }).token
}

/** What a run returned; `null` until it has ended. */
export async function outputOf(server: Server, run: string, headers: Record<string, string> = {}): Promise<unknown> {
  const { result } = await server.api<{ result: { output?: unknown } | null }>('GET', `/runs/${run}`, undefined, headers)
  return result?.output ?? null
}

/** The link that a mail about an approval has for a user. */
export function mailLink(server: Server, approval: string, user: string): string {
  const printed = server.run(['approvals', 'link', approval, '--user', user, '--url', server.url, '--store', server.store])
  return new URL(printed.trim()).pathname
}

/** A run that two of three people must approve, after a decision. */
export const PUBLISH = `
name: publish
steps:
  - id: size
    step_type: if_else
    if: 'input == "notes"'
    then_steps:
      - {id: small, step_type: text, template: "small notes"}
    else_steps:
      - {id: big, step_type: text, template: "big news"}
  - id: ask
    step_type: human_in_the_loop
    prompt_template: "Publish **{{input}}**?\\n\\nThe page has [a link](https://example.com/page)."
    choices: [approve, deny]
    recipient_distribution: selected_members
    recipient_user_ids: [ada, bob, eve]
    required_approvals: 2
    timeout_seconds: 86400
  - id: decide
    step_type: switch
    discriminator: "{{step.ask.output.outcome}}"
    cases:
      - {name: publish, match: approve, steps: [{id: done, step_type: text, template: published}]}
    else_steps:
      - {id: dropped, step_type: text, template: "not published"}
`

/** Votes of two groups, a veto, and a form. */
export const PAYMENT = `
name: payment
steps:
  - id: pay
    step_type: human_in_the_loop
    prompt_template: "Pay {{input}}?"
    need: {finance: 1, legal: 1}
    veto: [legal]
    show: {supplier: "{{metadata.supplier}}"}
    form:
      type: object
      properties:
        amount: {type: integer, default: "{{metadata.amount}}", maximum: 10000}
        reason: {type: string}
      required: [amount]
  - id: decide
    step_type: if_else
    if: 'step.pay.output.outcome == "approve"'
    then_steps:
      - {id: paid, step_type: text, template: "paid {{step.pay.output.form.amount}}"}
    else_steps:
      - {id: rejected, step_type: text, template: "not paid"}
`
