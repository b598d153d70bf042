// The pictures of the three examples: an approval, a loop, and a tool gate.

const PICTURES = [
  <>
    <g className="me">
    <path className="t" d="M150 26v14"/>
    <path d="M150 62v8q0 6-6 6h-63q-6 0-6 6v4"/>
    <path className="t" d="M150 62v24"/>
    <path d="M150 62v8q0 6 6 6h63q6 0 6 6v4"/>
    </g>
    <rect className="mn" x="118" y="8" width="64" height="18" rx="4"/>
    <text x="150" y="20.5">draft</text>
    <rect className="md" x="96" y="40" width="108" height="22" rx="4"/>
    <rect className="mt" x="128" y="40" width="44" height="22"/>
    <text className="ti" x="150" y="54.5">unsure</text>
    <text x="112" y="54.5">weak</text>
    <text x="188" y="54.5">good</text>
    <rect className="mn d" x="47" y="88" width="56" height="18" rx="4"/>
    <text className="f" x="75" y="100.5">drop</text>
    <rect className="mp" x="114" y="86" width="72" height="34" rx="5"/>
    <text className="p" x="150" y="99.5">approval</text>
    <circle className="pp on" cx="143" cy="110" r="3"/>
    <circle className="pp" cx="155" cy="110" r="3"/>
    <rect className="mn d" x="197" y="88" width="56" height="18" rx="4"/>
    <text className="f" x="225" y="100.5">send</text>
  </>,
  <>
    <g className="me">
    <path className="t" d="M150 24v10"/>
    <path className="t" d="M150 106v8"/>
    </g>
    <rect className="mn" x="114" y="6" width="72" height="18" rx="4"/>
    <text x="150" y="18.5">extract</text>
    <rect className="mg" x="66" y="36" width="168" height="68" rx="6"/>
    <text className="l" x="76" y="50">each topic</text>
    <g>
    <rect className="sq on" x="178" y="42" width="8" height="8" rx="2"/>
    <rect className="sq on" x="189" y="42" width="8" height="8" rx="2"/>
    <rect className="sq on" x="200" y="42" width="8" height="8" rx="2"/>
    <rect className="sq no" x="211" y="42" width="8" height="8" rx="2"/>
    <rect className="sq on" x="222" y="42" width="8" height="8" rx="2"/>
    </g>
    <rect className="mn" x="76" y="66" width="56" height="20" rx="4"/>
    <text x="104" y="79.5">search</text>
    <g className="me">
    <path className="t" d="M132 76h34"/>
    </g>
    <rect className="mn" x="168" y="66" width="56" height="20" rx="4"/>
    <text x="196" y="79.5">summary</text>
    <rect className="mn" x="114" y="110" width="72" height="18" rx="4"/>
    <text x="150" y="122.5">digest</text>
  </>,
  <>
    <rect className="mt r" x="40" y="16" width="94" height="22" rx="4"/>
    <text className="ti" x="87" y="30.5">research</text>
    <rect className="md" x="40" y="55" width="94" height="22" rx="4"/>
    <text x="87" y="69.5">planning_mode</text>
    <rect className="mn d" x="40" y="94" width="94" height="22" rx="4"/>
    <text className="f" x="87" y="108.5">general</text>
    <g className="me">
    <path className="t" d="M134 27h24q6 0 6 0h26"/>
    <path className="t" d="M134 27h24q8 0 8 8v12q0 6 6 6h18"/>
    </g>
    <rect className="mn" x="192" y="17" width="78" height="20" rx="10"/>
    <text x="231" y="30.5">web_search</text>
    <rect className="mn" x="192" y="43" width="78" height="20" rx="10"/>
    <text x="231" y="56.5">summarize</text>
    <rect className="mn d" x="192" y="69" width="78" height="20" rx="10"/>
    <text className="f" x="231" y="82.5">think</text>
    <rect className="mn d" x="192" y="95" width="78" height="20" rx="10"/>
    <text className="f" x="231" y="108.5">list_generation</text>
  </>,
]

export type ExampleKind = 'approval' | 'loop' | 'gate'

const KINDS: ExampleKind[] = ['approval', 'loop', 'gate']

export function ExamplePicture({ kind }: { kind: ExampleKind }) {
  return <svg viewBox="0 0 300 132" className="mini" aria-hidden>{PICTURES[KINDS.indexOf(kind)]}</svg>
}
