#!/usr/bin/env bash
# A tour of the program, run by `make run`: workflows first, then conditions. Each command is printed before its output.
# False (exit 1) is a result like true (exit 0), so it does not end the tour; an unexpected exit status does.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
binary=${BRANCHPOINT:-target/release/branchpoint}
if [[ ! -x $binary ]]; then
  echo "tour: no program at $binary; build it with 'make run', or set BRANCHPOINT to its path" >&2
  exit 1
fi

# The runs of the tour are stored in a temporary folder.
BRANCHPOINT_STORE=$(mktemp -d)/store.db
export BRANCHPOINT_STORE
trap 'rm -rf "$(dirname "$BRANCHPOINT_STORE")"' EXIT

# Prints the arguments as a person would type them.
shell_words() {
  local word
  for word in "$@"; do
    if [[ $word =~ ^[A-Za-z0-9_./=-]+$ ]]; then printf ' %s' "$word"; else printf " '%s'" "${word//\'/\'\\\'\'}"; fi
  done
}

# show TITLE EXIT ARGUMENT...: prints the title and the command, runs it, and requires that exit status.
show() {
  local title=$1 expected=$2 status=0
  shift 2
  printf '\n# %s\n$ branchpoint%s\n' "$title" "$(shell_words "$@")"
  "$binary" "$@" 2>&1 || status=$?
  printf '(exit %s)\n' "$status"
  if [[ $status != "$expected" ]]; then
    echo "tour: expected exit $expected, got $status; this is a defect of the program or of the tour" >&2
    exit 1
  fi
}

here=examples/eval
workflows=examples/workflows

show 'A workflow, checked before anything runs.' 0 \
  check $workflows/support.yaml

show 'The same workflow as a Mermaid diagram.' 0 \
  graph $workflows/support.yaml

show 'One run; a script answers for the model, the mail and the people.' 0 \
  run $workflows/support.yaml --script $workflows/support.script.yaml -i 'input=Where is my order?' \
  -i metadata.customer=ada@example.com

show 'A dry run of a flow without answers: which branch does it take, and why?' 1 \
  run $workflows/orders.json --dry-run -i total:=250

show 'A state machine that executes real commands.' 0 \
  run examples/machine/approval-by-exit-code.yaml --script examples/machine/approval-by-exit-code.script.yaml

show 'An expression over the state of a run. Inputs given as text count as numbers.' 0 \
  eval 'inputs.count > 10 && inputs.mode == "prod"' --context $here/deploy.json

show 'Why not? Every part with its value, and one plain sentence.' 1 \
  eval 'states.lint.ExitCode == 0 && states.check.Output contains "success"' --context $here/deploy.json --explain

show 'A mistake is neither true nor false: the error shows where it is.' 2 \
  eval 'inputs.mode startsWith "pr" && any(inputs.regions, hasPrefx(#, "eu"))' --context $here/deploy.json

show 'The same evaluator, written as a typed group (flow).' 0 \
  eval --dialect flow --condition $here/flow-condition.json --context $here/flow-variables.json

show 'A target list (steps): a word in the input makes it false.' 1 \
  eval --dialect steps --condition $here/steps-condition.json --context $here/steps-context.json --explain

show 'Conditions on the history of a session.' 0 \
  eval --dialect session --condition $here/session-condition.json --context $here/session-context.json

show 'The text match of a graph, printed as JSON.' 0 \
  eval --dialect graph --condition $here/graph-condition.json --context $here/graph-context.json --json

printf '\nThat was the tour. Write your own: branchpoint new --help\n'
