/** A loop over the list that its script gives, with one step for each item. */
export function manyItems() {
  return `name: items
steps:
  - {id: list, step_type: prompt_call, prompt_template: "{{input}}"}
  - id: rows
    step_type: for_each
    input_template: "{{step.list.output}}"
    limit: 20000
    body:
      - {id: row, step_type: text, template: "row {{step.rows.item}}"}
`
}

/** Switches with three branches one after the other, until there are so many steps. */
export function largeGraph(nodes) {
  const lines = ['name: graph', 'steps:']
  for (let count = 0, n = 0; count < nodes; n++, count += 6) {
    lines.push(
      `  - {id: load_${n}, step_type: text, template: "${'abc'[n % 3]}"}`,
      `  - id: pick_${n}`,
      '    step_type: switch',
      `    discriminator: "{{step.load_${n}.output}}"`,
      '    cases:',
      '      - name: first',
      '        match: a',
      `        steps: [{id: first_${n}, step_type: text, template: one}, {id: then_${n}, step_type: text, template: more}]`,
      '      - name: second',
      '        match: b',
      `        steps: [{id: second_${n}, step_type: text, template: two}]`,
      '    else_steps:',
      `      - {id: other_${n}, step_type: text, template: three}`,
    )
  }
  return `${lines.join('\n')}\n`
}
