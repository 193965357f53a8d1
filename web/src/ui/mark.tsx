// SPDX-License-Identifier: MIT
// The sign of the paper's test: better, even, worse.

const WORDS: Record<string, string> = { "+": "better", "~": "no clear difference", "-": "worse" };
const SIGNS: Record<string, string> = { "+": "+", "~": "~", "-": "−" };

export function markClass(mark: string | null | undefined): string {
  if (mark === "+") return "better";
  if (mark === "-") return "worse";
  return mark === "~" ? "even" : "";
}

export function Mark({ mark }: { mark: string | null | undefined }) {
  if (!mark || !(mark in WORDS)) return <span class="mark none">–</span>;
  return (
    <span class={`mark ${markClass(mark)}`} title={WORDS[mark]}>
      <span aria-hidden="true">{SIGNS[mark]}</span>
      <span class="visually-hidden">{WORDS[mark]}</span>
    </span>
  );
}
